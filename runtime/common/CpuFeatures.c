/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#include "common/SessionState.h"

#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>

/* Named here as LLVM names them. __builtin_cpu_supports also asks whether the
 * system saves the registers, which cpuid alone does not say. */
static int by_compiler(const char *name) {
  __builtin_cpu_init();
#define ASK(text)                                                                                                      \
  if (!strcmp(name, text))                                                                                             \
    return !!__builtin_cpu_supports(text);
  ASK("popcnt")
  ASK("sse3")
  ASK("ssse3") ASK("sse4.1") ASK("sse4.2") ASK("avx") ASK("avx2") ASK("bmi") ASK("bmi2") ASK("fma") ASK("aes")
      ASK("pclmul") ASK("avx512f") ASK("avx512bw") ASK("avx512cd") ASK("avx512dq") ASK("avx512vl") ASK("avx512ifma")
          ASK("avx512vbmi") ASK("avx512vnni") ASK("avx512bitalg") ASK("avx512vpopcntdq") ASK("avx512vbmi2")
#undef ASK
              return -1;
}

static int bit_of(unsigned leaf, unsigned subleaf, int reg, int bit) {
  unsigned r[4] = {0};
  if (!__get_cpuid_count(leaf, subleaf, &r[0], &r[1], &r[2], &r[3]))
    return 0;
  return (int)(r[reg] >> bit & 1);
}

static int by_cpuid(const char *name) {
  enum { A, B, C, D };
  if (!strcmp(name, "f16c"))
    return bit_of(1, 0, C, 29);
  if (!strcmp(name, "movbe"))
    return bit_of(1, 0, C, 22);
  if (!strcmp(name, "lzcnt"))
    return bit_of(0x80000001u, 0, C, 5);
  if (!strcmp(name, "avx512bf16"))
    return bit_of(7, 1, A, 5) && __builtin_cpu_supports("avx512f");
  if (!strcmp(name, "avx512fp16"))
    return bit_of(7, 0, D, 23) && __builtin_cpu_supports("avx512f");
  if (!strcmp(name, "avxvnni"))
    return bit_of(7, 1, A, 4) && __builtin_cpu_supports("avx2");
  if (!strcmp(name, "amx-tile"))
    return bit_of(7, 0, D, 24);
  if (!strcmp(name, "amx-bf16"))
    return bit_of(7, 0, D, 22);
  if (!strcmp(name, "amx-int8"))
    return bit_of(7, 0, D, 25);
  return -1;
}

static bool lacks(const char *name) {
  int has = by_compiler(name);
  return (has < 0 ? by_cpuid(name) : has) == 0;
}

#elif defined(__aarch64__)
#include <sys/auxv.h>

static bool lacks(const char *name) {
  static const struct {
    const char *name;
    int word, bit; /* of AT_HWCAP (0) or AT_HWCAP2 (1) */
  } known[] = {{"neon", 0, 1},     {"lse", 0, 8},  {"fullfp16", 0, 10}, {"rdm", 0, 12},  {"dotprod", 0, 20},
               {"fp16fml", 0, 23}, {"sve", 0, 22}, {"sve2", 1, 1},      {"i8mm", 1, 13}, {"bf16", 1, 14}};
  for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
    if (!strcmp(name, known[i].name))
      return !(getauxval(known[i].word ? AT_HWCAP2 : AT_HWCAP) >> known[i].bit & 1);
  return false;
}

#else
static bool lacks(const char *name) {
  (void)name;
  return false;
}
#endif

bool rcrt_missing_cpu_feature(const char *wanted, char *name, size_t size) {
  while (*wanted) {
    size_t length = strcspn(wanted, ",");
    const char *begin = *wanted == '+' ? wanted + 1 : wanted;
    snprintf(name, size, "%.*s", (int)(wanted + length - begin), begin);
    /* "-avx" tells the compiler to do without: nothing to ask for. */
    if (*wanted != '-' && lacks(name))
      return true;
    wanted += length + (wanted[length] == ',');
  }
  return false;
}
