# cmake --install: program, libraries, headers, pkg-config files, CMake package, man page, bash completion.
# Nothing is installed when Supple is a part of another project.
if(NOT SUPPLE_TOP_LEVEL)
  return()
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set_target_properties(supple_core PROPERTIES EXPORT_NAME core)
set_target_properties(supple_io PROPERTIES EXPORT_NAME io)
set_target_properties(supple_cuda PROPERTIES EXPORT_NAME cuda)
set(targets supple_core supple_io supple_cuda)
if(SUPPLE_SHARED)
  set_target_properties(supple_shared PROPERTIES EXPORT_NAME shared)
  list(APPEND targets supple_shared)
endif()
install(TARGETS ${targets} EXPORT supple-targets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/supple DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")

# find_package(supple) gives supple::supple.
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/supple)
install(EXPORT supple-targets NAMESPACE supple:: DESTINATION ${package_folder})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/supple-config.cmake.in
  ${CMAKE_BINARY_DIR}/supple-config.cmake INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/supple-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/supple-config.cmake ${CMAKE_BINARY_DIR}/supple-config-version.cmake
  DESTINATION ${package_folder})

# pkg-config: 'supple' is the shared library, 'supple-static' the static ones. Without shared libraries both are static.
# The prefix is told from the file's own place, so that a tree may be installed anywhere and moved.
file(RELATIVE_PATH SUPPLE_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
set(SUPPLE_PC_NAME supple-static)
set(SUPPLE_PC_LIBS "-lsupple_io -lsupple_core -lm -pthread")
configure_file(${PROJECT_SOURCE_DIR}/cmake/supple.pc.in ${CMAKE_BINARY_DIR}/supple-static.pc @ONLY)
set(SUPPLE_PC_NAME supple)
if(SUPPLE_SHARED)
  set(SUPPLE_PC_LIBS "-lsupple")
endif()
configure_file(${PROJECT_SOURCE_DIR}/cmake/supple.pc.in ${CMAKE_BINARY_DIR}/supple.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/supple.pc ${CMAKE_BINARY_DIR}/supple-static.pc
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(SUPPLE_APP)
  install(TARGETS supple RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES ${PROJECT_SOURCE_DIR}/docs/supple.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${PROJECT_SOURCE_DIR}/apps/supple/supple.bash
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME supple)
  # What 'make studio' built; nothing when it was not.
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/web/dist/studio DESTINATION ${CMAKE_INSTALL_DATADIR}/supple OPTIONAL)
endif()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(SUPPLE_MESHOPT)
  install(FILES ${PROJECT_SOURCE_DIR}/third_party/meshoptimizer/LICENSE.md DESTINATION ${CMAKE_INSTALL_DOCDIR}/meshoptimizer)
endif()
