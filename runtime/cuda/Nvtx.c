/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The application's side of NVTX version 3: what its headers compile into a
 * program. The profiler's library asks for tables of the places where it puts its
 * functions; we call two of them. */
#include "cuda/Nvtx.h"

#include "cuda/Device.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* As nvtx3/nvtxDetail/nvtxTypes.h numbers them: modules, functions of the first,
 * tables. A table has an entry for each number of a module, and one behind. */
enum {
  MODULE_CORE = 1,
  NUM_MODULES = 7,
  RANGE_PUSH = 9,
  RANGE_POP = 11,
  TABLE_ENTRIES = 17,
  TABLE_CALLBACKS = 1,
  TABLE_VERSION = 3,
  NVTX_VERSION = 3
};
static const unsigned module_entries[NUM_MODULES] = {0, 17, 10, 16, 8, 17, 8};

typedef void (*function)(void);

static function core[TABLE_ENTRIES], unused[TABLE_ENTRIES];
static function *core_table[TABLE_ENTRIES], *unused_table[TABLE_ENTRIES];

static int get_table(int module, function ***table, unsigned *bytes) {
  if (module < MODULE_CORE || module >= NUM_MODULES)
    return 0;
  if (table)
    *table = module == MODULE_CORE ? core_table : unused_table;
  if (bytes)
    *bytes = module_entries[module] * (unsigned)sizeof(function *);
  return 1;
}

static void set_version(uint32_t version) { (void)version; }

static const void *export_table(uint32_t number) {
  static const struct {
    size_t size;
    int (*get_table)(int, function ***, unsigned *);
  } callbacks = {sizeof callbacks, get_table};
  static const struct {
    size_t size;
    uint32_t version, reserved;
    void (*set_version)(uint32_t);
  } version = {sizeof version, NVTX_VERSION, 0, set_version};
  return number == TABLE_CALLBACKS ? (const void *)&callbacks : number == TABLE_VERSION ? &version : NULL;
}

/* A profiler that does not work is no error of the program. */
static void connect(void) {
  const char *path = getenv("NVTX_INJECTION64_PATH");
  void *library = path && *path ? dlopen(path, RTLD_LAZY | RTLD_LOCAL) : NULL;
  int (*begin)(const void *(*)(uint32_t)) = NULL;
  if (!library)
    return;
  *(void **)&begin = dlsym(library, "InitializeInjectionNvtx2");
  for (int i = 1; i < TABLE_ENTRIES - 1; ++i) {
    core_table[i] = &core[i];
    unused_table[i] = &unused[i];
  }
  if (!begin || !begin(export_table))
    core[RANGE_PUSH] = core[RANGE_POP] = NULL;
}

static bool is_connected(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, connect);
  return core[RANGE_PUSH] && core[RANGE_POP];
}

void rcrt_range_begin(const char *what, const char *label, const char *location) {
  char text[512];
  if (!is_connected())
    return;
  snprintf(text, sizeof text, "%s%s at %s", what, label, location);
  ((int (*)(const char *))core[RANGE_PUSH])(text);
}

void rcrt_range_end(void) {
  if (is_connected())
    ((int (*)(void))core[RANGE_POP])();
}

void rcrt_range_begin_exchange(const ringconv_context *context, const char *what, int64_t exchange) {
  const ringconv_op *op = rcrt_exchange_op(context->program, exchange);
  if (is_connected())
    rcrt_range_begin(what, op ? op->label : "a redistribution", op ? op->location : "unknown location");
}
