# supple_cuda: characters on a GPU, a separate library (include/supple/device.h). Always built, so that programs can
# link it anywhere: without nvcc, and in sanitizer builds, its functions fail with the reason.
# CUDA's runtime is linked statically and loads the driver at the first call.
set(SUPPLE_CUDA_FOLDERS cuda)
set(SUPPLE_CUDA_DEFAULT OFF)
if(NOT SUPPLE_SANITIZE AND NOT SUPPLE_FUZZ)
  include(CheckLanguage)
  if(NOT CMAKE_CUDA_COMPILER AND NOT DEFINED ENV{CUDACXX})
    find_program(SUPPLE_NVCC nvcc PATHS /usr/local/cuda/bin)
    mark_as_advanced(SUPPLE_NVCC)
    if(SUPPLE_NVCC)
      set(CMAKE_CUDA_COMPILER ${SUPPLE_NVCC})
    endif()
  endif()
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(SUPPLE_CUDA_DEFAULT ON)
  endif()
endif()
option(SUPPLE_CUDA "Build the GPU backend with nvcc" ${SUPPLE_CUDA_DEFAULT})

set(sources nested_dissection.c subdomains.c subdomains_inverse.c subdomains_pack.c subdomains_volume.c crowd_support.c
  upsample_rows.c untangle_clusters.c)
set(device_sources device.c crowd.c crowd_open.c crowd_memory.c crowd_morphs.c crowd_colliders.c runtime.cu pose.cu step_prepare.cu
  detect.cu step.cu step_persistent.cu contact_solve.cu schur.cu render_mesh.cu blend_skinning.cu untangle.cu
  colliders.cu list_constraints.cu)
set(SUPPLE_CUDA_SOURCES ${sources} ${device_sources}) # for tests/cuda/emulator
list(TRANSFORM SUPPLE_CUDA_SOURCES PREPEND ${PROJECT_SOURCE_DIR}/src/cuda/)
if(SUPPLE_CUDA)
  if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80-virtual 90-real) # code for the H100 and H200, and PTX for other devices
  endif()
  enable_language(CUDA)
  list(APPEND sources ${device_sources})
else()
  list(APPEND sources none.c)
endif()
list(TRANSFORM sources PREPEND ${PROJECT_SOURCE_DIR}/src/cuda/)
add_library(supple_cuda STATIC ${sources})
set_target_properties(supple_cuda PROPERTIES POSITION_INDEPENDENT_CODE ON CUDA_STANDARD 17 CUDA_RUNTIME_LIBRARY Static)
target_include_directories(supple_cuda PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_compile_definitions(supple_cuda PRIVATE SUPPLE_BUILD=1)
supple_library(supple_cuda)
target_link_libraries(supple_cuda PUBLIC supple_core)
foreach(property COMPILE_OPTIONS COMPILE_DEFINITIONS)
  get_target_property(common supple_options INTERFACE_${property})
  foreach(option ${common})
    if(property STREQUAL COMPILE_OPTIONS)
      target_compile_options(supple_cuda PRIVATE $<$<COMPILE_LANGUAGE:C>:${option}>)
    endif()
  endforeach()
endforeach()
# Divisions and roots have an error of two units in the last place and denormals are zero: the solver is iterative and
# corrects such errors. 1675: a pragma of gcc.
target_compile_options(supple_cuda PRIVATE
  "$<$<COMPILE_LANGUAGE:CUDA>:-prec-div=false;-prec-sqrt=false;-ftz=true;-diag-suppress=1675;-Xcompiler=-fvisibility=hidden>")
# The warnings of C that C++ has as well. nvcc warns about device code, the host's compiler about the rest.
target_compile_options(supple_cuda PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra,-Wshadow,-Wconversion,-Wvla>")
if(SUPPLE_WERROR)
  target_compile_options(supple_cuda PRIVATE "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings;-Xcompiler=-Werror>")
endif()
