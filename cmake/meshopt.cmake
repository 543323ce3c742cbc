# supple_meshopt: meshoptimizer's decoders (third_party/meshoptimizer) as objects of supple_io.
# They are C++ that needs no C++ library. The C compiler's driver compiles them with -x c++: as sources of the language CXX
# they would make CMake link every program with the C++ library.
include(CheckCSourceCompiles)
function(supple_check_cxx)
  unset(CMAKE_C_STANDARD)
  set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY) # -x c++ is not for the linker
  set(CMAKE_REQUIRED_FLAGS "-x c++")
  check_c_source_compiles("template <class T> T same(T x) { return x; } int main() { return same(0); }" SUPPLE_COMPILES_CXX)
endfunction()
supple_check_cxx()
option(SUPPLE_MESHOPT "Read compressed glTF with meshoptimizer: needs a compiler that has C++" ${SUPPLE_COMPILES_CXX})
if(NOT SUPPLE_MESHOPT)
  target_compile_definitions(supple_io_objects PRIVATE SUPPLE_MESHOPT=0)
  return()
endif()
target_compile_definitions(supple_io_objects PRIVATE SUPPLE_MESHOPT=1)
set(source ${PROJECT_SOURCE_DIR}/src/load/meshopt_library.cpp)
set_source_files_properties(${source} PROPERTIES LANGUAGE C)
add_library(supple_meshopt OBJECT ${source})
set_property(TARGET supple_meshopt PROPERTY C_STANDARD) # none: the file is not C
if(NOT SUPPLE_WASM)
  set_target_properties(supple_meshopt PROPERTIES POSITION_INDEPENDENT_CODE ON)
endif()
target_include_directories(supple_meshopt PRIVATE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src
  ${PROJECT_SOURCE_DIR}/third_party/meshoptimizer)
target_compile_definitions(supple_meshopt PRIVATE SUPPLE_BUILD=1)
# C++20 defines shifts of negative numbers, which the filters make.
target_compile_options(supple_meshopt PRIVATE -x c++ -std=gnu++2a -w -fno-exceptions -fno-rtti -fno-threadsafe-statics
  -ffp-contract=off -fvisibility=hidden)
if(SUPPLE_SANITIZE)
  target_compile_options(supple_meshopt PRIVATE -fsanitize=${SUPPLE_SANITIZE} -fno-sanitize-recover=all
    -fno-omit-frame-pointer -g1
    $<$<C_COMPILER_ID:Clang>:-fno-sanitize=function>) # it is in the C++ part of the runtime
endif()
if(SUPPLE_FUZZ)
  target_compile_options(supple_meshopt PRIVATE -fsanitize=fuzzer-no-link)
endif()
if(SUPPLE_WASM)
  target_compile_options(supple_meshopt PRIVATE -Oz -flto)
endif()
