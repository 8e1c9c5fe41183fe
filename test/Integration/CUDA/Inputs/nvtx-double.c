/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A test double of a profiler's library for NVTX: writes a line for each range of
 * the thread that has just begun or ended, to stderr. With NVTX_H its types are
 * NVIDIA's, which holds ours against them. */
#include <stdint.h>
#include <stdio.h>

#ifdef NVTX_H
#include <nvtx3/nvToolsExt.h>
#else
typedef void (*NvtxFunctionPointer)(void);
typedef NvtxFunctionPointer **NvtxFunctionTable;
typedef enum { NVTX_CB_MODULE_CORE = 1, NVTX_CB_MODULE_CORE2 = 5 } NvtxCallbackModule;
enum { NVTX_CBID_CORE_RangePushA = 9, NVTX_CBID_CORE_RangePop = 11, NVTX_CBID_CORE2_DomainRangePop = 5 };
enum { NVTX_ETID_CALLBACKS = 1, NVTX_ETID_VERSIONINFO = 3 };
typedef struct {
  size_t struct_size;
  int (*GetModuleFunctionTable)(NvtxCallbackModule, NvtxFunctionTable *, unsigned *);
} NvtxExportTableCallbacks;
typedef struct {
  size_t struct_size;
  uint32_t version, reserved0;
  void (*SetInjectionNvtxVersion)(uint32_t);
} NvtxExportTableVersionInfo;
typedef const void *(*NvtxGetExportTableFunc_t)(uint32_t);
#endif

static _Thread_local int depth;

static int push(const char *text) { return fprintf(stderr, "nvtx: %d %s\n", depth, text), depth++; }
static int pop(void) { return --depth; }

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t tables) {
  const NvtxExportTableVersionInfo *version = tables(NVTX_ETID_VERSIONINFO);
  const NvtxExportTableCallbacks *callbacks = tables(NVTX_ETID_CALLBACKS);
  NvtxFunctionTable core, domains;
  unsigned bytes, others;
  if (version->struct_size != sizeof *version || version->version != 3 || callbacks->struct_size != sizeof *callbacks)
    return 0;
  version->SetInjectionNvtxVersion(3);
  if (!callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &core, &bytes) || bytes != 17 * sizeof *core ||
      !callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &domains, &others) || others != bytes)
    return 0;
  *core[NVTX_CBID_CORE_RangePushA] = (NvtxFunctionPointer)push;
  *core[NVTX_CBID_CORE_RangePop] = (NvtxFunctionPointer)pop;
  *domains[NVTX_CBID_CORE2_DomainRangePop] = (NvtxFunctionPointer)pop;
  return 1;
}
