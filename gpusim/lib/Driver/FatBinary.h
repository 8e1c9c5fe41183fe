// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef GPUSIM_DRIVER_FATBINARY_H
#define GPUSIM_DRIVER_FATBINARY_H

#include "gpusim/CUDA.h"

#include <string>

namespace gpusim {

/// Finds the PTX in what a program gives to cuModuleLoadData: text, a fat
/// binary, or its wrapper. `why` explains a failure.
CUresult ptxFromImage(const void *image, unsigned arch, std::string &ptx, std::string &why);

} // namespace gpusim

#endif // GPUSIM_DRIVER_FATBINARY_H
