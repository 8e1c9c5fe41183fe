/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Local convolutions by cuDNN 9, for programs that were compiled so. Its library
 * is opened with the first of them: libcudnn.so.9, or the file that RINGCONV_CUDNN
 * names. */
#ifndef RINGCONV_CUDA_CUDNN_H
#define RINGCONV_CUDA_CUDNN_H

#include "common/Context.h"

/* Sets context->cuda->cudnn. The GPU is current. */
int32_t rcrt_cudnn_open(ringconv_context *context);
void rcrt_cudnn_close(ringconv_context *context);

#endif
