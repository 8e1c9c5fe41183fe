/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "mpi/Loader.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Folders that hold our libraries, besides those next to the program. */
#ifndef RINGCONV_MPI_FOLDERS
#define RINGCONV_MPI_FOLDERS ""
#endif

static const char *const implementations[] = {"openmpi", "mpich", "other"};

/* The implementation whose library this process has in it, or NULL: a caller
 * that gives a communicator has begun MPI before us. */
static const char *loaded_implementation(void) {
  static const struct {
    const char *file, *name;
  } known[] = {
      {"libmpi.so.40", "openmpi"}, {"libmpich.so.12", "mpich"}, {"libmpi.so.12", "mpich"}, {"libmpi.so.20", "openmpi"}};
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
    void *handle = dlopen(known[i].file, RTLD_LAZY | RTLD_NOLOAD);
    if (!handle)
      continue;
    dlclose(handle);
    return known[i].name;
  }
  return NULL;
}

/* ---- The mark in a file ---- */

/* Copies what follows the mark, "1 for openmpi", to `text`. */
static bool find_mark(const char *bytes, size_t size, char *text, size_t text_size) {
  const char mark[] = RINGCONV_MPI_MARK;
  const char *at = memmem(bytes, size, mark, sizeof mark - 1);
  if (!at)
    return false;
  at += sizeof mark - 1;
  size_t left = size - (size_t)(at - bytes), n = 0;
  while (n < left && n + 1 < text_size && at[n] && at[n] != '.')
    ++n;
  memcpy(text, at, n);
  text[n] = 0;
  return true;
}

static bool read_mark(const char *path, char *mark, size_t mark_size, char *text) {
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat s;
  if (fd < 0 || fstat(fd, &s)) {
    snprintf(text, RCRT_TEXT, "%s: %s", path, strerror(errno));
    if (fd >= 0)
      close(fd);
    return false;
  }
  void *map = MAP_FAILED;
  if (S_ISREG(s.st_mode) && s.st_size > 0)
    map = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  bool found = map != MAP_FAILED && find_mark(map, (size_t)s.st_size, mark, mark_size);
  if (map != MAP_FAILED)
    munmap(map, (size_t)s.st_size);
  if (!found)
    snprintf(text, RCRT_TEXT, "%s: not a ringconv MPI library", path);
  return found;
}

/* ---- Loading ---- */

static const ringconv_mpi_functions *load_file(const char *path, const char *implementation, char *text) {
  char mark[64], wanted[64];
  if (!read_mark(path, mark, sizeof mark, text))
    return NULL;
  snprintf(wanted, sizeof wanted, "%d for ", RINGCONV_MPI_ABI);
  if (strncmp(mark, wanted, strlen(wanted))) {
    snprintf(text, RCRT_TEXT, "%s: has ABI %.*s, the runtime has %d", path, (int)strcspn(mark, " "), mark,
             RINGCONV_MPI_ABI);
    return NULL;
  }
  const char *made_for = mark + strlen(wanted);
  if (implementation && strcmp(made_for, "other") && strcmp(made_for, implementation)) {
    snprintf(text, RCRT_TEXT, "%s: made for %s, but this process belongs to %s", path, made_for, implementation);
    return NULL;
  }
  /* Global: Open MPI's plugins look for its symbols there. */
  void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  const ringconv_mpi_functions *functions = handle ? dlsym(handle, RINGCONV_MPI_SYMBOL) : NULL;
  if (functions && functions->abi_version == RINGCONV_MPI_ABI)
    return functions;
  snprintf(text, RCRT_TEXT, "%s: %s", path, handle ? "not a ringconv MPI library" : dlerror());
  return NULL;
}

static bool exists(const char *path) { return access(path, F_OK) == 0; }

/* The file in `folder` that fits; false: none there. */
static bool in_folder(const char *folder, const char *implementation, char *path) {
  for (size_t i = 0; i < sizeof implementations / sizeof *implementations; ++i) {
    bool fits = !implementation || !strcmp(implementations[i], implementation) || !strcmp(implementations[i], "other");
    if (fits && snprintf(path, PATH_MAX, "%s/libringconv_mpi_%s.so", folder, implementations[i]) < PATH_MAX &&
        exists(path))
      return true;
  }
  return false;
}

/* Cuts a path after its folder. */
static void to_folder(char *path) {
  char *slash = strrchr(path, '/');
  if (slash)
    *slash = 0;
}

static bool find_file(const char *implementation, char *path) {
  char folder[PATH_MAX], beside[PATH_MAX + 8];
  ssize_t n = readlink("/proc/self/exe", folder, sizeof folder - 1);
  if (n > 0) {
    folder[n] = 0;
    to_folder(folder);
    snprintf(beside, sizeof beside, "%s/../lib", folder);
    if (in_folder(beside, implementation, path) || in_folder(folder, implementation, path))
      return true;
  }
  Dl_info self; /* the library that this code is linked into, if it is one */
  if (dladdr((void *)(uintptr_t)&rcrt_mpi_load, &self) && self.dli_fname) {
    snprintf(folder, sizeof folder, "%s", self.dli_fname);
    to_folder(folder);
    if (in_folder(folder, implementation, path))
      return true;
  }
  for (const char *at = RINGCONV_MPI_FOLDERS; *at;) {
    size_t length = strcspn(at, ":");
    snprintf(folder, sizeof folder, "%.*s", (int)length, at);
    if (length && in_folder(folder, implementation, path))
      return true;
    at += length + (at[length] == ':');
  }
  return false;
}

const ringconv_mpi_functions *rcrt_mpi_load(const char *implementation, char *text) {
  const char *named = getenv("RINGCONV_MPI"), *loaded = loaded_implementation();
  if (loaded)
    implementation = loaded;
  char path[PATH_MAX];
  if (named && *named) {
    char why[RCRT_TEXT];
    const ringconv_mpi_functions *functions = load_file(named, implementation, why);
    if (!functions)
      snprintf(text, RCRT_TEXT, "RINGCONV_MPI: %.*s", RCRT_TEXT - 20, why);
    return functions;
  }
  if (find_file(implementation, path))
    return load_file(path, implementation, text);
  snprintf(text, RCRT_TEXT,
           "no libringconv_mpi_%s.so beside the program or in %s: build it with this MPI's mpicc, or name it by "
           "RINGCONV_MPI",
           implementation ? implementation : "*", RINGCONV_MPI_FOLDERS);
  return NULL;
}
