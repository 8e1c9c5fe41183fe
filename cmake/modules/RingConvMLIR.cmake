# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Finds MLIR 22 and its tools. MLIR_DIR names another installation; otherwise
# Debian's place is searched too. A build that has MLIR already, found by it or
# built by it (LLVM_EXTERNAL_PROJECTS), is taken as it is.
if(TARGET MLIRIR)
  if(NOT MLIR_INCLUDE_DIRS)
    set(MLIR_INCLUDE_DIRS "${LLVM_MAIN_SRC_DIR}/../mlir/include" "${LLVM_BINARY_DIR}/tools/mlir/include")
    set(LLVM_INCLUDE_DIRS "${LLVM_MAIN_INCLUDE_DIR}" "${LLVM_INCLUDE_DIR}")
  endif()
else()
  if(NOT MLIR_DIR AND EXISTS /usr/lib/llvm-22/lib/cmake/mlir)
    set(MLIR_DIR /usr/lib/llvm-22/lib/cmake/mlir)
  endif()
  find_package(MLIR 22.1 REQUIRED CONFIG)
  list(APPEND CMAKE_MODULE_PATH "${MLIR_CMAKE_DIR}" "${LLVM_CMAKE_DIR}")
endif()
message(STATUS "ringconv ${RINGCONV_VERSION}: MLIR ${LLVM_PACKAGE_VERSION} in ${MLIR_DIR}")
if(NOT LLVM_EXTERNAL_LIT)
  set(LLVM_EXTERNAL_LIT "${LLVM_TOOLS_BINARY_DIR}/lit")
endif()

include(TableGen)
include(AddLLVM)
include(AddMLIR)

# libMLIR.so holds all of MLIR: a single MLIRxxx archive beside it would bring a
# second copy of its state. A build without it has archives only.
set(dylib OFF)
if(TARGET MLIR)
  set(dylib ON)
endif()
option(RINGCONV_LINK_MLIR_DYLIB "Link libMLIR.so instead of its archives" ${dylib})
set(MLIR_LINK_MLIR_DYLIB ${RINGCONV_LINK_MLIR_DYLIB})
if(RINGCONV_LINK_MLIR_DYLIB)
  set(RINGCONV_MLIR_LIBRARIES MLIR LLVM)
else()
  set(RINGCONV_MLIR_LIBRARIES MLIROptLib MLIRReduceLib MLIRLspServerLib MLIRPluginsLib MLIRExecutionEngineUtils
      MLIRRegisterAllDialects MLIRRegisterAllPasses MLIRRegisterAllExtensions MLIRToLLVMIRTranslationRegistration)
  llvm_map_components_to_libnames(llvm native nativecodegen orcjit linker support)
  list(APPEND RINGCONV_MLIR_LIBRARIES ${llvm})
endif()

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
