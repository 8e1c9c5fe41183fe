/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * An output is written to a temporary file beside its target, each rank its
 * box, and renamed once all ranks have written. */
#include "driver/Driver.h"

#include "common/Copy.h"
#include "common/DType.h"
#include "common/Npy.h"
#include "common/Shard.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void temporary_path(const rcrt_driver *d, const char *target, char *path) {
  snprintf(path, PATH_MAX, "%s.part-%s", target, d->token);
}

/* ---- Ctrl-C ---- */

/* The handler may only read what never changes once it is installed. One
 * driver runs in a process. */
static char **guarded, farewell[128];
static volatile sig_atomic_t num_guarded;
static bool is_launched;

static void remove_and_die(int number) {
  for (int i = 0; i < num_guarded; ++i)
    unlink(guarded[i]);
  /* Launchers end the other ranks by SIGTERM once one has failed, and has said why. */
  if (number == SIGINT || !is_launched) {
    ssize_t written = write(STDERR_FILENO, farewell, strlen(farewell));
    (void)written; /* there is nobody left to tell */
  }
  signal(number, SIG_DFL);
  raise(number);
}

void rcrt_outputs_guard(const rcrt_driver *d, bool speaks, bool launched) {
  int32_t count = d->program->num_outputs;
  if (guarded)
    return;
  guarded = calloc((size_t)count + 2, sizeof *guarded);
  int n = 0;
  for (int32_t i = 0; guarded && i < count + 2; ++i) {
    const char *target = i < count ? d->flags.outputs[i] : i == count ? d->flags.json : d->flags.trace;
    if (target && (guarded[n] = malloc(PATH_MAX)))
      temporary_path(d, target, guarded[n++]);
  }
  num_guarded = n;
  is_launched = launched;
  if (speaks)
    snprintf(farewell, sizeof farewell, "%.64s: error: interrupted\n", d->name);
  struct sigaction action = {.sa_handler = remove_and_die};
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  signal(SIGXFSZ, SIG_IGN); /* a file that may not grow is an error of its write */
}

/* ---- Files ---- */

static bool fail(char *text, const char *path, const char *why) {
  snprintf(text, RCRT_TEXT, "%s: %s", path, why);
  return false;
}

static bool possible(const char *path, char *text) {
  char folder[PATH_MAX];
  struct stat s;
  if (strlen(path) + 64 > PATH_MAX)
    return fail(text, "an output", "its name is too long");
  /* A rename onto a device would replace it. */
  if (stat(path, &s) == 0 && !S_ISREG(s.st_mode))
    return fail(text, path,
                S_ISDIR(s.st_mode) ? "a folder, expected the name of a file" : "exists and is no plain file");
  const char *slash = strrchr(path, '/');
  snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
  if (access(folder, W_OK | X_OK))
    return fail(text, path, strerror(errno));
  return true;
}

bool rcrt_outputs_possible(const rcrt_driver *d, char *text) {
  for (int32_t i = 0; i < d->program->num_outputs; ++i)
    if (d->flags.outputs[i] && !possible(d->flags.outputs[i], text))
      return false;
  return (!d->flags.json || possible(d->flags.json, text)) && (!d->flags.trace || possible(d->flags.trace, text));
}

static bool write_all(int fd, const char *bytes, size_t size, off_t at) {
  while (size) {
    ssize_t n = pwrite(fd, bytes, size, at);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    bytes += n;
    size -= (size_t)n;
    at += n;
  }
  return true;
}

/* Closes the file; on failure says why. */
static bool close_file(int fd, bool ok, const char *target, char *text) {
  int error = errno;
  if (close(fd) && ok) {
    ok = false;
    error = errno;
  }
  return ok || fail(text, target, strerror(error));
}

static bool create_output(const rcrt_driver *d, int32_t i, char *text) {
  const ringconv_operand *operand = &d->program->outputs[i];
  char path[PATH_MAX], header[RCRT_NPY_HEADER];
  int64_t bytes = 0;
  rcrt_product(operand->sizes, operand->rank, &bytes); /* allocated before: it can be counted */
  bytes *= rcrt_dtype_size(operand->dtype);
  temporary_path(d, d->flags.outputs[i], path);
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0)
    return fail(text, d->flags.outputs[i], strerror(errno));
  size_t size = rcrt_npy_header_text(operand, header);
  bool ok = write_all(fd, header, size, 0);
  if (ok && bytes) { /* a full disk is noticed here, before anybody writes through a mapping */
    int error = posix_fallocate(fd, (off_t)size, bytes);
    errno = error;
    ok = error == 0;
  }
  return close_file(fd, ok, d->flags.outputs[i], text);
}

bool rcrt_outputs_create(const rcrt_driver *d, char *text) {
  for (int32_t i = 0; i < d->program->num_outputs; ++i)
    if (d->flags.outputs[i] && !create_output(d, i, text))
      return false;
  return true;
}

/* One call for each contiguous run of the box: works for ranks on several
 * machines that share the file, where mappings would not. */
static bool write_runs(int fd, off_t data, const ringconv_operand *operand, const int64_t *offsets,
                       const int64_t *sizes, const char *from) {
  int64_t strides[RCRT_MAX_RANK], index[RCRT_MAX_RANK] = {0}, rank = operand->rank;
  int64_t width = rcrt_dtype_size(operand->dtype), run = 1, inner = rank;
  rcrt_dense_strides(rank, operand->sizes, strides);
  while (inner > 0) { /* dimensions that are whole join the run, and one more that is cut */
    --inner;
    run *= sizes[inner];
    if (sizes[inner] != operand->sizes[inner])
      break;
  }
  for (;;) {
    int64_t at = 0;
    for (int64_t k = 0; k < rank; ++k)
      at += (offsets[k] + index[k]) * strides[k];
    if (!write_all(fd, from, (size_t)(run * width), data + at * width))
      return false;
    from += run * width;
    int64_t k = inner - 1;
    for (; k >= 0 && ++index[k] == sizes[k]; --k)
      index[k] = 0;
    if (k < 0)
      return true;
  }
}

/* Threads share one mapping's pages: a strided copy instead of many calls. */
static bool write_mapped(int fd, size_t data, const ringconv_operand *operand, const int64_t *offsets,
                         const int64_t *sizes, const char *from) {
  struct stat s;
  if (fstat(fd, &s))
    return false;
  char *map = mmap(NULL, (size_t)s.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (map == MAP_FAILED)
    return false;
  int64_t to[RCRT_MAX_RANK], dense[RCRT_MAX_RANK], begin = 0, width = rcrt_dtype_size(operand->dtype);
  rcrt_dense_strides(operand->rank, operand->sizes, to);
  rcrt_dense_strides(operand->rank, sizes, dense);
  for (int32_t k = 0; k < operand->rank; ++k)
    begin += offsets[k] * to[k];
  rcrt_view source = {(char *)(uintptr_t)from, dense};
  rcrt_copy((rcrt_view){map + data + begin * width, to}, source, width, operand->rank, sizes);
  return munmap(map, (size_t)s.st_size) == 0;
}

static bool write_output(const rcrt_driver *d, int32_t i, int64_t position, const void *data, char *text) {
  const ringconv_operand *operand = &d->program->outputs[i];
  int64_t offsets[RCRT_MAX_RANK], sizes[RCRT_MAX_RANK], elements;
  if (!rcrt_is_first_replica(&d->program->mesh, operand, position))
    return true;
  rcrt_box(&d->program->mesh, operand, position, offsets, sizes);
  if (!rcrt_product(sizes, operand->rank, &elements) || elements == 0)
    return true;
  char path[PATH_MAX], header[RCRT_NPY_HEADER];
  size_t begin = rcrt_npy_header_text(operand, header);
  temporary_path(d, d->flags.outputs[i], path);
  int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) {
    snprintf(text, RCRT_TEXT,
             "%s: rank %lld cannot open the file that rank 0 made (%s): do all ranks share this folder?",
             d->flags.outputs[i], (long long)position, strerror(errno));
    return false;
  }
  bool ok = d->transport == RINGCONV_TRANSPORT_THREADS ? write_mapped(fd, begin, operand, offsets, sizes, data)
                                                       : write_runs(fd, (off_t)begin, operand, offsets, sizes, data);
  return close_file(fd, ok, d->flags.outputs[i], text);
}

bool rcrt_outputs_write(const rcrt_driver *d, int64_t position, void *const *out, char *text) {
  for (int32_t i = 0; i < d->program->num_outputs; ++i)
    if (d->flags.outputs[i] && !write_output(d, i, position, out[i], text))
      return false;
  return true;
}

/* Private while it grows, as the user's umask wants it when complete. */
static bool publish(const rcrt_driver *d, const char *target, char *text) {
  char path[PATH_MAX];
  temporary_path(d, target, path);
  mode_t mask = umask(0);
  umask(mask);
  if (chmod(path, 0666 & ~mask) || rename(path, target))
    return fail(text, target, strerror(errno));
  return true;
}

bool rcrt_outputs_finish(const rcrt_driver *d, char *text) {
  for (int32_t i = 0; i < d->program->num_outputs; ++i)
    if (d->flags.outputs[i] && !publish(d, d->flags.outputs[i], text))
      return false;
  return true;
}

void rcrt_outputs_discard(const rcrt_driver *d) {
  for (int32_t i = 0; i < d->program->num_outputs; ++i) {
    char path[PATH_MAX];
    if (!d->flags.outputs[i])
      continue;
    temporary_path(d, d->flags.outputs[i], path);
    unlink(path);
  }
}

bool rcrt_write_text(const rcrt_driver *d, const char *target, const char *bytes, size_t size, char *text) {
  char path[PATH_MAX];
  temporary_path(d, target, path);
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0)
    return fail(text, target, strerror(errno));
  bool ok = close_file(fd, write_all(fd, bytes, size, 0), target, text) && publish(d, target, text);
  if (!ok)
    unlink(path);
  return ok;
}
