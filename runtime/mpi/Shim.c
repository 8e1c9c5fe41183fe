/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The transport library of one MPI implementation: compiled by its mpicc,
 * nothing of the runtime in it. See Shim.h. */
#include "Shim.h"

#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(OPEN_MPI)
#define IMPLEMENTATION "openmpi"
#define LIBRARY_WORDS "Open MPI"
#elif defined(MPICH_VERSION)
#define IMPLEMENTATION "mpich"
#define LIBRARY_WORDS "MPICH"
#else
#define IMPLEMENTATION "other"
#define LIBRARY_WORDS ""
#endif

#define TEXT_OF_(x) #x
#define TEXT_OF(x) TEXT_OF_(x)
#define EXPORT __attribute__((visibility("default")))

EXPORT const char ringconv_mpi_mark[] = RINGCONV_MPI_MARK TEXT_OF(RINGCONV_MPI_ABI) " for " IMPLEMENTATION ".";

/* Tag 0 is for notes of failure, exchanges use the others. */
enum { NOTE_TAG = 0 };

struct ringconv_mpi_link {
  MPI_Comm comm;
  MPI_Request duplicating, note;
  int rank, size, opened;
  int64_t tags; /* number of tags for exchanges */
  int32_t note_in, note_out;
};

/* What MPI_Isend and MPI_Irecv want to know of a message, with the shape it was
 * made for. Types are kept from one post to the next: making them costs more
 * than a short message, and MPICH 4.0 loses some bytes with each type that was
 * used once. */
typedef struct layout_slot {
  int64_t key_size, key_capacity;
  int64_t *key;
  int count, own; /* own: the type is to be freed */
  MPI_Datatype type;
} layout_slot;

typedef struct batch_state {
  int64_t capacity, count; /* of messages */
  MPI_Request *requests;
  MPI_Status *statuses;
  layout_slot *slots;
  int64_t key_capacity;
  int64_t *key; /* of the message at hand */
} batch_state;

static int fail(int code, const char *what, char *text) {
  char reason[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  if (MPI_Error_string(code, reason, &length) != MPI_SUCCESS)
    snprintf(reason, sizeof reason, "code %d", code);
  for (char *c = reason; *c; ++c)
    if (*c == '\n')
      *c = ' ';
  snprintf(text, RINGCONV_MPI_TEXT, "%s: %.*s", what, RINGCONV_MPI_TEXT - 40, reason);
  return 1;
}

/* ---- The driver's part ---- */

static int check_library(char *text) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  if (MPI_Get_library_version(version, &length) != MPI_SUCCESS || strstr(version, LIBRARY_WORDS))
    return 0;
  version[strcspn(version, ",\n")] = 0;
  snprintf(text, RINGCONV_MPI_TEXT, "made for " IMPLEMENTATION ", but the loaded MPI is '%.100s'", version);
  return 1;
}

static int shim_init(char *text) {
  int initialized = 0, provided;
  if (check_library(text))
    return 1;
  MPI_Initialized(&initialized);
  if (!initialized) {
    int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
    if (code != MPI_SUCCESS)
      return fail(code, "MPI_Init_thread", text);
  }
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  return 0;
}

static void shim_world(int32_t *comm, int64_t *rank, int64_t *size) {
  int r = 0, s = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &r);
  MPI_Comm_size(MPI_COMM_WORLD, &s);
  *comm = (int32_t)MPI_Comm_c2f(MPI_COMM_WORLD);
  *rank = r;
  *size = s;
}

static void shim_finalize(void) {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (!finalized)
    MPI_Finalize();
}

static int shim_serialized(void) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  return level >= MPI_THREAD_SERIALIZED;
}

static void shim_abort(int code) { MPI_Abort(MPI_COMM_WORLD, code); }

/* ---- Links ---- */

static int shim_open(int32_t comm_number, ringconv_mpi_link **out, int64_t *rank, int64_t *size, char *text) {
  int initialized = 0;
  MPI_Initialized(&initialized);
  if (!initialized) {
    snprintf(text, RINGCONV_MPI_TEXT, "MPI is not initialised");
    return 1;
  }
  if (check_library(text))
    return 1;
  MPI_Comm comm = MPI_Comm_f2c((MPI_Fint)comm_number);
  ringconv_mpi_link *link = calloc(1, sizeof *link);
  if (!link || comm == MPI_COMM_NULL) {
    snprintf(text, RINGCONV_MPI_TEXT, link ? "no communicator" : "out of memory");
    free(link);
    return 1;
  }
  /* The caller's communicator keeps its own way with errors, but not here. */
  MPI_Errhandler handler;
  MPI_Comm_get_errhandler(comm, &handler);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  int code = MPI_Comm_rank(comm, &link->rank);
  if (code == MPI_SUCCESS)
    code = MPI_Comm_size(comm, &link->size);
  if (code == MPI_SUCCESS)
    code = MPI_Comm_idup(comm, &link->comm, &link->duplicating);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Errhandler_free(&handler);
  if (code != MPI_SUCCESS) {
    free(link);
    return fail(code, "MPI_Comm_idup", text);
  }
  *out = link;
  *rank = link->rank;
  *size = link->size;
  return 0;
}

static int shim_open_test(ringconv_mpi_link *link, int *done, char *text) {
  int code = MPI_Test(&link->duplicating, done, MPI_STATUS_IGNORE), found = 0;
  if (code != MPI_SUCCESS)
    return fail(code, "MPI_Comm_idup", text);
  if (!*done)
    return 0;
  int *upper = NULL;
  MPI_Comm_set_errhandler(link->comm, MPI_ERRORS_RETURN);
  MPI_Comm_get_attr(link->comm, MPI_TAG_UB, &upper, &found);
  link->tags = found ? *upper : 32767;
  code = MPI_Irecv(&link->note_in, 1, MPI_INT32_T, MPI_ANY_SOURCE, NOTE_TAG, link->comm, &link->note);
  if (code != MPI_SUCCESS)
    return fail(code, "MPI_Irecv", text);
  link->opened = 1;
  return 0;
}

static void shim_tell(ringconv_mpi_link *link, int32_t number) {
  link->note_out = number;
  for (int peer = 0; peer < link->size && link->opened; ++peer) {
    MPI_Request request;
    if (peer != link->rank &&
        MPI_Isend(&link->note_out, 1, MPI_INT32_T, peer, NOTE_TAG, link->comm, &request) == MPI_SUCCESS) {
      /* Small messages leave at once; nobody waits for a peer that is gone. */
      int done;
      MPI_Test(&request, &done, MPI_STATUS_IGNORE);
      if (!done)
        MPI_Request_free(&request);
    }
  }
}

static int shim_told(ringconv_mpi_link *link, int32_t *number) {
  int done = 0;
  if (link->note == MPI_REQUEST_NULL || MPI_Test(&link->note, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || !done)
    return 0;
  *number = link->note_in;
  return 1;
}

/* After a failure a note may still be on its way out, from the link's memory,
 * and freeing a communicator would wait for peers that are gone. */
static void shim_close(ringconv_mpi_link *link, int failed) {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (failed || finalized || !link->opened)
    return;
  if (link->note != MPI_REQUEST_NULL) {
    MPI_Cancel(&link->note);
    MPI_Wait(&link->note, MPI_STATUS_IGNORE);
  }
  MPI_Comm_free(&link->comm);
  free(link);
}

/* ---- Datatypes ---- */

/* Both ends of a message have the same sequence of elements, so that types of
 * the elements' width make equal signatures. */
static MPI_Datatype element_type(int64_t size, int *per_element) {
  *per_element = 1;
  switch (size) {
  case 2:
    return MPI_UINT16_T;
  case 4:
    return MPI_UINT32_T;
  case 8:
    return MPI_UINT64_T;
  default:
    *per_element = (int)size;
    return MPI_BYTE;
  }
}

/* The elements of a piece from the innermost dimension outwards: first a run
 * without gaps, then a vector for every dimension that has them. */
typedef struct layout {
  int64_t run; /* elements without gaps */
  int64_t dims;
  int64_t sizes[65], strides[65]; /* strides in bytes */
} layout;

static layout layout_of(const ringconv_mpi_piece *p) {
  layout l = {.run = 1};
  for (int64_t d = p->rank - 1; d >= 0; --d) {
    if (p->sizes[d] == 1)
      continue;
    if (l.dims == 0 && p->strides[d] == l.run) {
      l.run *= p->sizes[d];
      continue;
    }
    l.sizes[l.dims] = p->sizes[d];
    l.strides[l.dims++] = p->strides[d] * p->element_size;
  }
  return l;
}

/* A type of its own for the piece, not committed. */
static int piece_type(const ringconv_mpi_piece *p, MPI_Datatype *type) {
  layout l = layout_of(p);
  int per_element;
  MPI_Datatype element = element_type(p->element_size, &per_element);
  int64_t run = l.run * per_element;
  if (run > INT_MAX) { /* counts of MPI 3 are int: rows of equal length */
    int64_t parts = 2;
    while (run % parts || run / parts > INT_MAX)
      ++parts;
    for (int64_t d = l.dims++; d > 0; --d) {
      l.sizes[d] = l.sizes[d - 1];
      l.strides[d] = l.strides[d - 1];
    }
    run /= parts;
    l.sizes[0] = parts;
    l.strides[0] = run * (per_element == 1 ? p->element_size : 1);
  }
  int code = MPI_Type_contiguous((int)run, element, type);
  for (int64_t d = 0; code == MPI_SUCCESS && d < l.dims; ++d) {
    MPI_Datatype outer = MPI_DATATYPE_NULL;
    code = l.sizes[d] > INT_MAX ? MPI_ERR_COUNT
                                : MPI_Type_create_hvector((int)l.sizes[d], 1, (MPI_Aint)l.strides[d], *type, &outer);
    MPI_Type_free(type);
    *type = outer;
  }
  return code;
}

/* One box. */
static int single_layout(const ringconv_mpi_piece *p, layout_slot *slot) {
  layout l = layout_of(p);
  int per_element;
  MPI_Datatype element = element_type(p->element_size, &per_element);
  if (l.dims == 0 && l.run * per_element <= INT_MAX) {
    slot->count = (int)(l.run * per_element);
    slot->type = element;
    return MPI_SUCCESS;
  }
  slot->own = 1;
  return piece_type(p, &slot->type);
}

/* Several boxes as one type, their places relative to the first. */
static int struct_layout(const ringconv_mpi_message *m, layout_slot *slot) {
  size_t n = (size_t)m->num_pieces;
  MPI_Datatype *types = calloc(n, sizeof *types);
  MPI_Aint *places = calloc(n, sizeof *places);
  int *ones = calloc(n, sizeof *ones), made = 0;
  int code = types && places && ones ? MPI_SUCCESS : MPI_ERR_NO_MEM;
  for (; code == MPI_SUCCESS && made < m->num_pieces; ++made) {
    ones[made] = 1;
    places[made] = (MPI_Aint)((intptr_t)m->pieces[made].data - (intptr_t)m->pieces[0].data);
    code = piece_type(&m->pieces[made], &types[made]);
    if (code != MPI_SUCCESS)
      break;
  }
  if (code == MPI_SUCCESS)
    code = MPI_Type_create_struct(m->num_pieces, ones, places, types, &slot->type);
  for (int i = 0; i < made; ++i)
    MPI_Type_free(&types[i]);
  free(types);
  free(places);
  free(ones);
  slot->own = code == MPI_SUCCESS;
  return code;
}

static void free_layout(layout_slot *slot) {
  if (slot->own && slot->type != MPI_DATATYPE_NULL)
    MPI_Type_free(&slot->type); /* MPI keeps what pending messages need */
  slot->own = 0;
  slot->key_size = 0;
}

static int grow(int64_t **data, int64_t *capacity, int64_t needed) {
  if (needed <= *capacity)
    return 1;
  int64_t *grown = realloc(*data, (size_t)needed * sizeof **data);
  if (!grown)
    return 0;
  *data = grown;
  *capacity = needed;
  return 1;
}

/* All that a layout depends on, as numbers; -1: out of memory. */
static int64_t make_key(batch_state *s, const ringconv_mpi_message *m) {
  int64_t size = 0, at = 0;
  for (int32_t i = 0; i < m->num_pieces; ++i)
    size += 3 + 2 * m->pieces[i].rank;
  if (!grow(&s->key, &s->key_capacity, size))
    return -1;
  for (int32_t i = 0; i < m->num_pieces; ++i) {
    const ringconv_mpi_piece *p = &m->pieces[i];
    s->key[at++] = (int64_t)((intptr_t)p->data - (intptr_t)m->pieces[0].data);
    s->key[at++] = p->element_size;
    s->key[at++] = p->rank;
    for (int64_t d = 0; d < p->rank; ++d) {
      s->key[at++] = p->sizes[d];
      s->key[at++] = p->strides[d];
    }
  }
  return size;
}

static int find_layout(batch_state *s, const ringconv_mpi_message *m, layout_slot *slot) {
  int64_t size = make_key(s, m);
  if (size < 0)
    return MPI_ERR_NO_MEM;
  if (size == slot->key_size && !memcmp(slot->key, s->key, (size_t)size * sizeof *s->key))
    return MPI_SUCCESS;
  free_layout(slot);
  if (!grow(&slot->key, &slot->key_capacity, size))
    return MPI_ERR_NO_MEM;
  slot->count = 1;
  slot->type = MPI_DATATYPE_NULL;
  int code = m->num_pieces == 1 ? single_layout(&m->pieces[0], slot) : struct_layout(m, slot);
  if (code == MPI_SUCCESS && slot->own)
    code = MPI_Type_commit(&slot->type);
  if (code != MPI_SUCCESS)
    return code;
  memcpy(slot->key, s->key, (size_t)size * sizeof *s->key);
  slot->key_size = size;
  return MPI_SUCCESS;
}

/* ---- Messages ---- */

static int grow_state(batch_state *s, int64_t count) {
  MPI_Request *requests = realloc(s->requests, (size_t)count * sizeof *requests);
  s->requests = requests ? requests : s->requests;
  MPI_Status *statuses = realloc(s->statuses, (size_t)count * sizeof *statuses);
  s->statuses = statuses ? statuses : s->statuses;
  layout_slot *slots = realloc(s->slots, (size_t)count * sizeof *slots);
  s->slots = slots ? slots : s->slots;
  if (!requests || !statuses || !slots)
    return 0;
  memset(slots + s->capacity, 0, (size_t)(count - s->capacity) * sizeof *slots);
  s->capacity = count;
  return 1;
}

static batch_state *prepare_state(ringconv_mpi_batch *batch) {
  batch_state *s = batch->state ? batch->state : calloc(1, sizeof *s);
  batch->state = s;
  if (!s)
    return NULL;
  s->count = 0;
  if (batch->num_messages > s->capacity && !grow_state(s, batch->num_messages))
    return NULL;
  s->count = batch->num_messages;
  for (int64_t i = 0; i < s->count; ++i)
    s->requests[i] = MPI_REQUEST_NULL;
  return s;
}

static int shim_post(ringconv_mpi_link *link, ringconv_mpi_batch *batch, char *text) {
  batch_state *s = prepare_state(batch);
  if (!s) {
    snprintf(text, RINGCONV_MPI_TEXT, "out of memory");
    return 1;
  }
  /* An exchange is in flight once at a time, and messages with one tag keep
   * their order: numbers that meet in a tag do no harm, lanes would. */
  int64_t numbers = (link->tags - 1) / batch->lanes;
  if (numbers < 1) {
    snprintf(text, RINGCONV_MPI_TEXT, "this MPI has %lld tags, %lld are needed", (long long)link->tags,
             (long long)batch->lanes);
    return 1;
  }
  int64_t base = 1 + (int64_t)((uint64_t)batch->tag % (uint64_t)numbers) * batch->lanes;
  for (int64_t i = 0; i < batch->num_messages; ++i) {
    ringconv_mpi_message *m = &batch->messages[i];
    layout_slot *slot = &s->slots[i];
    void *address = m->pieces[0].data;
    int tag = (int)(base + m->lane);
    m->got = -1;
    int code = find_layout(s, m, slot);
    if (code == MPI_SUCCESS)
      code = i < batch->num_receives
                 ? MPI_Irecv(address, slot->count, slot->type, m->peer, tag, link->comm, &s->requests[i])
                 : MPI_Isend(address, slot->count, slot->type, m->peer, tag, link->comm, &s->requests[i]);
    if (code != MPI_SUCCESS)
      return fail(code, i < batch->num_receives ? "MPI_Irecv" : "MPI_Isend", text);
  }
  return 0;
}

static void read_sizes(ringconv_mpi_batch *batch, const batch_state *s) {
  for (int64_t i = 0; i < batch->num_receives; ++i) {
    MPI_Count bytes = 0;
    MPI_Get_elements_x(&s->statuses[i], MPI_BYTE, &bytes);
    batch->messages[i].got = bytes;
  }
}

/* The first message with an error of its own. A longer message than expected
 * is told apart: `got` then exceeds `bytes`. */
static int failed_message(ringconv_mpi_batch *batch, const batch_state *s, char *text) {
  for (int64_t i = 0; i < s->count; ++i) {
    int code = s->statuses[i].MPI_ERROR, class = MPI_SUCCESS;
    if (code == MPI_SUCCESS || code == MPI_ERR_PENDING)
      continue;
    MPI_Error_class(code, &class);
    if (class == MPI_ERR_TRUNCATE && i < batch->num_receives) {
      MPI_Count bytes = 0;
      MPI_Get_elements_x(&s->statuses[i], MPI_BYTE, &bytes);
      ringconv_mpi_message *m = &batch->messages[i];
      m->got = bytes > m->bytes ? bytes : INT64_MAX;
      return 0;
    }
    snprintf(text, RINGCONV_MPI_TEXT, "message %s %d", i < batch->num_receives ? "from" : "to",
             batch->messages[i].peer);
    char what[64];
    snprintf(what, sizeof what, "%s", text);
    return fail(code, what, text);
  }
  snprintf(text, RINGCONV_MPI_TEXT, "MPI_Testall failed");
  return 1;
}

static int shim_test(ringconv_mpi_link *link, ringconv_mpi_batch *batch, int *done, char *text) {
  (void)link;
  batch_state *s = batch->state;
  for (int64_t i = 0; i < s->count; ++i)
    s->statuses[i].MPI_ERROR = MPI_SUCCESS;
  int code = MPI_Testall((int)s->count, s->requests, done, s->statuses);
  if (code == MPI_SUCCESS) {
    if (*done)
      read_sizes(batch, s);
    return 0;
  }
  int class = MPI_SUCCESS;
  MPI_Error_class(code, &class);
  *done = 1;
  if (class == MPI_ERR_IN_STATUS)
    return failed_message(batch, s, text);
  if (class == MPI_ERR_TRUNCATE) { /* an implementation that reports it directly */
    for (int64_t i = 0; i < batch->num_receives; ++i)
      batch->messages[i].got = INT64_MAX;
    return 0;
  }
  return fail(code, "MPI_Testall", text);
}

static int64_t shim_pending(ringconv_mpi_link *link, ringconv_mpi_batch *batch) {
  (void)link;
  batch_state *s = batch->state;
  for (int64_t i = 0; i < s->count; ++i) {
    int done = 1;
    if (s->requests[i] != MPI_REQUEST_NULL &&
        MPI_Request_get_status(s->requests[i], &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done)
      return i;
  }
  return -1;
}

static void shim_abandon(ringconv_mpi_link *link, ringconv_mpi_batch *batch) {
  (void)link;
  batch_state *s = batch->state;
  for (int64_t i = 0; s && i < s->count; ++i) {
    if (s->requests[i] == MPI_REQUEST_NULL)
      continue;
    int done = 0;
    if (i < batch->num_receives)
      MPI_Cancel(&s->requests[i]);
    if (MPI_Test(&s->requests[i], &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done)
      MPI_Request_free(&s->requests[i]);
    s->requests[i] = MPI_REQUEST_NULL;
  }
}

static void shim_release(ringconv_mpi_batch *batch) {
  batch_state *s = batch->state;
  int finalized = 0;
  batch->state = NULL;
  if (!s)
    return;
  MPI_Finalized(&finalized);
  for (int64_t i = 0; i < s->capacity; ++i) {
    if (!finalized)
      free_layout(&s->slots[i]);
    free(s->slots[i].key);
  }
  free(s->requests);
  free(s->statuses);
  free(s->slots);
  free(s->key);
  free(s);
}

EXPORT const ringconv_mpi_functions ringconv_mpi_table = {
    .abi_version = RINGCONV_MPI_ABI,
    .implementation = IMPLEMENTATION,
    .init = shim_init,
    .world = shim_world,
    .finalize = shim_finalize,
    .abort_all = shim_abort,
    .serialized = shim_serialized,
    .open = shim_open,
    .open_test = shim_open_test,
    .post = shim_post,
    .test = shim_test,
    .pending = shim_pending,
    .abandon = shim_abandon,
    .release = shim_release,
    .tell = shim_tell,
    .told = shim_told,
    .close = shim_close,
};
