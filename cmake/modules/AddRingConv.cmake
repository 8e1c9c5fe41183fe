# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The one rule by which our libraries are built: a static library that is
# installed and exported, compiled as LLVM is (no RTTI, no exceptions), linked
# with libMLIR.so where it uses MLIR.
#
#   add_ringconv_library(NAME source... [NO_MLIR] [DEPENDS target...] [LINK library...])
#
#   ringconv_compile_options(TARGET [EXCEPTIONS])
function(ringconv_compile_options target)
  set(exceptions -fno-exceptions)
  if("EXCEPTIONS" IN_LIST ARGN)
    set(exceptions)
  endif()
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-rtti ${exceptions} -Wall -Wextra
                                           -Wno-unused-parameter -Wno-comment>)
  if(RINGCONV_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${RINGCONV_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=${RINGCONV_SANITIZE})
  endif()
endfunction()

function(add_ringconv_library name)
  cmake_parse_arguments(ARG "NO_MLIR" "" "DEPENDS;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_UNPARSED_ARGUMENTS})
  ringconv_compile_options(${name})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
                                            $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
                                            $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_LINK})
  if(NOT ARG_NO_MLIR)
    target_link_libraries(${name} PUBLIC ${RINGCONV_MLIR_LIBRARIES})
  endif()
  install(TARGETS ${name} EXPORT RingConvTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

#   add_ringconv_tool(NAME source... [LINK library...])
function(add_ringconv_tool name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  add_executable(${name} ${ARG_UNPARSED_ARGUMENTS})
  ringconv_compile_options(${name})
  target_link_libraries(${name} PRIVATE ${ARG_LINK})
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()
