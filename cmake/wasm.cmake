# Toolchain file: the core and the readers as WebAssembly, with clang and wasi-libc.
#     cmake -S . -B build-wasm -G Ninja -DCMAKE_TOOLCHAIN_FILE=cmake/wasm.cmake
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_C_COMPILER clang)
set(CMAKE_C_COMPILER_TARGET wasm32-wasi)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
# What every browser with SIMD has; errno is one variable.
set(CMAKE_C_FLAGS_INIT "-msimd128 -mnontrapping-fptoint -msign-ext -mbulk-memory -ftls-model=local-exec -D_WASI_EMULATED_GETPID")
set(CMAKE_C_FLAGS_RELEASE "-DNDEBUG" CACHE STRING "")
# Not a flag of the linker's command: with -O there, clang runs wasm-opt where binaryen is installed, and the file is larger
# after compression (docs/dependencies.md).
add_compile_options(-O2)
set(SUPPLE_WASM ON)
