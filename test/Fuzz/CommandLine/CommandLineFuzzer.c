/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The words of a run, one a line: refused with a reason, or flags in their ranges. */
#include "Fuzz.h"
#include "driver/Driver.h"

enum { MOST_WORDS = 32 };

static void parse(int argc, char **words, const ringconv_program *program) {
  char *argv[MOST_WORDS + 2]; /* the parser may reorder them */
  memcpy(argv, words, (size_t)(argc + 1) * sizeof *argv);
  rcrt_flags flags;
  char text[RCRT_TEXT] = "";
  if (!rcrt_parse_flags(argc, argv, program, &flags, text))
    expect(*text && memchr(text, 0, sizeof text));
  else
    expect(flags.repeat >= 1 && flags.timeout > 0 && flags.ranks_per_process >= 1 &&
           (!flags.has_rtol || flags.rtol >= 0));
  rcrt_free_flags(&flags);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const int64_t sizes[] = {2, 3};
  static const ringconv_operand inputs[] = {{"x", RINGCONV_F32, 2, sizes, NULL, 0},
                                            {"w", RINGCONV_F32, 1, sizes, NULL, RINGCONV_PARAMETER}};
  static const ringconv_operand outputs[] = {{NULL, RINGCONV_F32, 2, sizes, NULL, 0}};
  static const ringconv_program program = {
      .num_inputs = 2, .num_outputs = 1, .inputs = inputs, .outputs = outputs};
  char *argv[MOST_WORDS + 2] = {"program"};
  int argc = 1;
  for (size_t begin = 0, end; begin < size && argc <= MOST_WORDS; begin = end + 1) {
    for (end = begin; end < size && data[end] && data[end] != '\n';)
      ++end;
    expect((argv[argc++] = strndup((const char *)data + begin, end - begin)) != NULL);
  }
  parse(argc, argv, &program);
  parse(argc, argv, NULL);
  while (argc > 1)
    free(argv[--argc]);
  return 0;
}
