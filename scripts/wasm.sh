#!/usr/bin/env bash
# The library as WebAssembly: web/dist/supple.wasm, with clang and wasi-libc.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh build-wasm -DCMAKE_TOOLCHAIN_FILE=cmake/wasm.cmake -DCMAKE_BUILD_TYPE=Release -- supple_wasm
mkdir -p web/dist
cp build-wasm/supple.wasm web/dist/supple.wasm
strip=$(command -v llvm-strip || compgen -c llvm-strip- | sort -V | tail -n 1)
"$strip" web/dist/supple.wasm
cp third_party/meshoptimizer/LICENSE.md web/dist/meshoptimizer.LICENSE.md # its decoder is in supple.wasm
if command -v node >/dev/null 2>&1; then
    node scripts/shrink_wasm.mjs web/dist/supple.wasm web/dist/supple.wasm
fi
echo "web/dist/supple.wasm: $(stat -c %s web/dist/supple.wasm) bytes, $(gzip -9c web/dist/supple.wasm | wc -c) compressed"
