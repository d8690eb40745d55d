# Configures, builds and runs one consumer project; ctest calls it with CONSUMER and the paths
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    string(JOIN " " command ${ARGN})
    message(FATAL_ERROR "${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

set(build ${WORK}/${CONSUMER})
file(REMOVE_RECURSE ${build})
if(CONSUMER STREQUAL "installed")
  file(REMOVE_RECURSE ${PREFIX})
  run(${CMAKE_COMMAND} --install ${RICCI_BUILD} --prefix ${PREFIX})
endif()
run(${CMAKE_COMMAND} -G ${GENERATOR} -S ${CMAKE_CURRENT_LIST_DIR}/${CONSUMER} -B ${build}
    -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}
    -DCMAKE_PREFIX_PATH=${PREFIX} -DRICCI_SOURCE=${RICCI_SOURCE})
run(${CMAKE_COMMAND} --build ${build} --target consumer --parallel 2)
run(${build}/consumer)
message(STATUS "${output}")
