# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Finds MLIR 22 and its tools. MLIR_DIR names another installation; otherwise
# Debian's place is searched too.
if(NOT MLIR_DIR AND EXISTS /usr/lib/llvm-22/lib/cmake/mlir)
  set(MLIR_DIR /usr/lib/llvm-22/lib/cmake/mlir)
endif()
find_package(MLIR 22.1 REQUIRED CONFIG)
message(STATUS "ringconv ${RINGCONV_VERSION}: MLIR ${LLVM_PACKAGE_VERSION} in ${MLIR_DIR}")

list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
# libMLIR.so holds all of MLIR: a single MLIRxxx archive beside it would bring a
# second copy of its state.
set(MLIR_LINK_MLIR_DYLIB ON)
set(LLVM_EXTERNAL_LIT "${LLVM_TOOLS_BINARY_DIR}/lit")

include(TableGen)
include(AddLLVM)
include(AddMLIR)

separate_arguments(RINGCONV_LLVM_DEFINITIONS NATIVE_COMMAND "${LLVM_DEFINITIONS}")
add_definitions(${RINGCONV_LLVM_DEFINITIONS})
include_directories(SYSTEM ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
include_directories(${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include)
set(CMAKE_INSTALL_RPATH "$ORIGIN/../lib;${LLVM_LIBRARY_DIR}")
set(CMAKE_BUILD_RPATH "${LLVM_LIBRARY_DIR}")

find_program(RINGCONV_CCACHE ccache)
if(RINGCONV_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${RINGCONV_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${RINGCONV_CCACHE})
endif()
find_program(RINGCONV_LLD ld.lld)
if(RINGCONV_LLD)
  add_link_options(-fuse-ld=lld)
endif()
