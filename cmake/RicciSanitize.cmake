# Sanitizers: every object of the build has them, or none
if(RICCI_SANITIZE)
  message(STATUS "ricci: with sanitizers: ${RICCI_SANITIZE}")
  # Kernels are compiled at run time and carry no type information for `function` and `vptr`.
  set(ricci_not_checked vptr)
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    set(ricci_not_checked function,vptr)
  endif()
  add_compile_options(-fsanitize=${RICCI_SANITIZE} -fno-sanitize=${ricci_not_checked}
                      -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${RICCI_SANITIZE})
endif()
