# The libraries: supple_core (no stdio, no dependency) and supple_io (files), each static, and one shared libsupple
# that holds both. Folders are listed in the order of the pipeline; a folder may use only those before it.
set(SUPPLE_CORE_FOLDERS base math linalg geometry character rig bind pose deform upsample volume anatomy skin limits tissue solver contact untangle
  methods/linear methods/dualquat methods/cor methods/ddm methods/stbs methods/projective methods/anatomy methods/position
  methods/implicit methods scenes measure)
set(SUPPLE_IO_FOLDERS load output)

function(supple_sources result)
  set(sources "")
  foreach(folder ${ARGN})
    file(GLOB found CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${folder}/*.c)
    list(APPEND sources ${found})
  endforeach()
  set(${result} ${sources} PARENT_SCOPE)
endfunction()

supple_sources(SUPPLE_CORE_SOURCES ${SUPPLE_CORE_FOLDERS})
supple_sources(SUPPLE_IO_SOURCES ${SUPPLE_IO_FOLDERS})

function(supple_objects name)
  add_library(${name} OBJECT ${ARGN})
  if(NOT SUPPLE_WASM) # also for static libraries: they end in plug-ins
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endif()
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/include PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_definitions(${name} PRIVATE SUPPLE_BUILD=1)
  target_link_libraries(${name} PRIVATE supple_options)
endfunction()

supple_objects(supple_core_objects ${SUPPLE_CORE_SOURCES})
supple_objects(supple_io_objects ${SUPPLE_IO_SOURCES})
include(${PROJECT_SOURCE_DIR}/cmake/meshopt.cmake)
set(meshopt_objects $<$<BOOL:${SUPPLE_MESHOPT}>:$<TARGET_OBJECTS:supple_meshopt>>)
if(SUPPLE_FUZZ)
  # Coverage where input from outside is read and checked; on the arithmetic behind it, it would only cost time.
  supple_sources(fuzzed base character bind load)
  file(GLOB checks CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*/*_check.c ${PROJECT_SOURCE_DIR}/src/*/*_open.c
    ${PROJECT_SOURCE_DIR}/src/methods/*/*check.c ${PROJECT_SOURCE_DIR}/src/methods/*/*_open.c
    ${PROJECT_SOURCE_DIR}/src/methods/*/*view.c
    ${PROJECT_SOURCE_DIR}/src/anatomy/array_store.c ${PROJECT_SOURCE_DIR}/src/anatomy/*_bytes.c)
  set_property(SOURCE ${fuzzed} ${checks} APPEND PROPERTY COMPILE_OPTIONS -fsanitize=fuzzer-no-link)
endif()
include(${PROJECT_SOURCE_DIR}/cmake/simd.cmake)
if(SUPPLE_WASM) # small where work is done once, fast in the files where steps spend their time
  set(once ${SUPPLE_CORE_SOURCES} ${SUPPLE_IO_SOURCES})
  list(FILTER once EXCLUDE REGEX "(solver_base|pbd_base|field_base|compose_base|detect_base|upsample_base|kernels|detect)\\.c$")
  set_property(SOURCE ${once} APPEND PROPERTY COMPILE_OPTIONS -Oz -flto) # one look at all of it saves 3 kB more
  set(smaller ${SUPPLE_CORE_SOURCES}) # hardly slower, and smaller
  list(FILTER smaller INCLUDE REGEX "(contact/detect|contact/detect_base|untangle/untangle_base|solver/solver_contact)\\.c$|implicit/field_base\\.c$")
  set_property(SOURCE ${smaller} APPEND PROPERTY COMPILE_OPTIONS -Os)
endif()

# While the major version is 0, a minor version may change the ABI: it is part of the SONAME (docs/abi.md).
set(SUPPLE_SOVERSION ${PROJECT_VERSION_MAJOR})
if(PROJECT_VERSION_MAJOR EQUAL 0)
  set(SUPPLE_SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
endif()
function(supple_library name)
  set_target_properties(${name} PROPERTIES VERSION ${PROJECT_VERSION} SOVERSION ${SUPPLE_SOVERSION})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
  target_link_libraries(${name} PUBLIC m Threads::Threads)
  if(SUPPLE_SANITIZE)
    target_link_options(${name} PUBLIC -fsanitize=${SUPPLE_SANITIZE})
  endif()
endfunction()

add_library(supple_core STATIC $<TARGET_OBJECTS:supple_core_objects>)
supple_library(supple_core)
add_library(supple_io STATIC $<TARGET_OBJECTS:supple_io_objects> ${meshopt_objects})
supple_library(supple_io)
target_link_libraries(supple_io PUBLIC supple_core)
if(SUPPLE_SHARED)
  add_library(supple_shared SHARED $<TARGET_OBJECTS:supple_core_objects> $<TARGET_OBJECTS:supple_io_objects> ${meshopt_objects})
  set_target_properties(supple_shared PROPERTIES OUTPUT_NAME supple)
  supple_library(supple_shared)
endif()
add_library(supple::supple ALIAS supple_io)
