# Compiler options that hold for every target of the project, gathered in one interface target.
if(SUPPLE_WASM)
  add_library(Threads::Threads INTERFACE IMPORTED) # a page steps in one worker
else()
  find_package(Threads REQUIRED)
endif()

add_library(supple_options INTERFACE)
target_compile_features(supple_options INTERFACE c_std_17)
# No contraction: the same numbers from every compiler; kernels that want FMA write it.
target_compile_options(supple_options INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wmissing-prototypes -Wstrict-prototypes -Wvla
  -ffp-contract=off -fno-math-errno -fvisibility=hidden -D_POSIX_C_SOURCE=200809L)
if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
  target_compile_options(supple_options INTERFACE -Wno-psabi)
endif()
if(SUPPLE_WERROR)
  target_compile_options(supple_options INTERFACE -Werror)
endif()
if(SUPPLE_WASM) # a page downloads it all: without what only benchmarks and programs with a file system use
  target_compile_definitions(supple_options INTERFACE SUPPLE_SMALL=1)
endif()
if(SUPPLE_SCALAR)
  target_compile_definitions(supple_options INTERFACE SUPPLE_SCALAR=1)
endif()
if(SUPPLE_SANITIZE)
  target_compile_options(supple_options INTERFACE -fsanitize=${SUPPLE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  target_link_options(supple_options INTERFACE -fsanitize=${SUPPLE_SANITIZE})
  if(SUPPLE_SANITIZE MATCHES "undefined" AND SUPPLE_SANITIZE MATCHES "address")
    # The address sanitizer stops at these pointers too, when they are used; looking twice doubles the time to compile.
    target_compile_options(supple_options INTERFACE -fno-sanitize=null,object-size)
  endif()
endif()
