# A room: one static library, linked downwards only.
#   ricci_room(dsl SOURCES a.cpp b.cpp HEADERS a.h b.h LINKS ricci_affine)
function(ricci_warnings target)
  # g++ 12 sees overlapping copies in std::string and unset members in std::optional where there are
  # none (GCC bugs 105651 and 105562).
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wswitch-enum -Wnon-virtual-dtor -Wold-style-cast
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict;-Wno-maybe-uninitialized>
    $<$<BOOL:${RICCI_WERROR}>:-Werror>)
endfunction()

function(ricci_room room)
  cmake_parse_arguments(ARG "" "" "SOURCES;HEADERS;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(ricci_${room} STATIC ${ARG_SOURCES})
  add_library(ricci::${room} ALIAS ricci_${room})
  target_sources(ricci_${room} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR}
                 FILES ${ARG_HEADERS})
  target_compile_features(ricci_${room} PUBLIC cxx_std_20)
  target_link_libraries(ricci_${room} PUBLIC ${ARG_LINKS} PRIVATE ${ARG_PRIVATE_LINKS})
  set_target_properties(ricci_${room} PROPERTIES EXPORT_NAME ${room})
  set_property(GLOBAL APPEND PROPERTY RICCI_ROOMS ricci_${room})
  ricci_warnings(ricci_${room})
endfunction()

# The tests of one room: one binary, every case listed by ctest. No kernel is kept on disk, lest an
# old one be tested. A case that cannot run where it is prints `SKIPPED: why`.
#   ricci_test(dsl SOURCES lexer_test.cpp LINKS ricci_dsl)
function(ricci_test room)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(test_${room} ${ARG_SOURCES})
  target_link_libraries(test_${room} PRIVATE ${ARG_LINKS} ricci_test_support)
  ricci_warnings(test_${room})
  doctest_discover_tests(test_${room} TEST_PREFIX "${room}: "
    PROPERTIES ENVIRONMENT "RICCI_SOURCE_DIR=${PROJECT_SOURCE_DIR}"
               ENVIRONMENT_MODIFICATION "RICCI_CACHE_DIR=set:"
               SKIP_REGULAR_EXPRESSION "SKIPPED: ")
endfunction()
