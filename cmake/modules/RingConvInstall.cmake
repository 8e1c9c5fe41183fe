# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# cmake --install: tools, libraries, headers, and what find_package(RingConv)
# reads.
include(CMakePackageConfigHelpers)
set(RINGCONV_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/ringconv)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/modules/RingConvConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/RingConvConfig.cmake INSTALL_DESTINATION ${RINGCONV_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/RingConvConfigVersion.cmake VERSION ${RINGCONV_VERSION}
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/RingConvConfig.cmake ${PROJECT_BINARY_DIR}/RingConvConfigVersion.cmake
        DESTINATION ${RINGCONV_CMAKE_DIR})
install(EXPORT RingConvTargets DESTINATION ${RINGCONV_CMAKE_DIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ringconv ${PROJECT_SOURCE_DIR}/include/ringconv-c DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h" PATTERN "*.td")
install(DIRECTORY ${PROJECT_BINARY_DIR}/include/ringconv DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.inc" PATTERN "Config.h")
