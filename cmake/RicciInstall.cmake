# Installation: libraries, headers under include/ricci, `find_package(ricci)`
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(ricci_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/ricci)
get_property(ricci_rooms GLOBAL PROPERTY RICCI_ROOMS)

# `#include <ricci/ricci.h>` is found from include/, `#include "dsl/program.h"` from include/ricci/.
install(TARGETS ${ricci_rooms} EXPORT ricci
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ricci)
install(TARGETS ricci EXPORT ricci
        FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT ricci NAMESPACE ricci:: DESTINATION ${ricci_package_dir}
        FILE ricci-targets.cmake)

configure_package_config_file(cmake/ricci-config.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/ricci-config.cmake INSTALL_DESTINATION ${ricci_package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/ricci-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ricci-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/ricci-config-version.cmake
        DESTINATION ${ricci_package_dir})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
