#!/usr/bin/env bash
# Builds the WebAssembly package and the studio; runs their tests in Node (results compared with the native program) and
# in Chromium: test_web.sh SUPPLE
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
for need in node wasm-ld llvm-strip clang; do
    if ! command -v "$need" >/dev/null 2>&1; then
        echo "skipped web: $need is not installed"
        echo "0 passed, 0 failed, 1 skipped"
        exit 0
    fi
done
if [ ! -e /usr/include/wasm32-wasi/stdio.h ]; then
    echo "skipped web: wasi-libc is not installed"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
fi
if ! scripts/wasm.sh; then
    echo "0 passed, 1 failed, 0 skipped"
    exit 1
fi
bad=0
size=$(gzip -9c web/dist/supple.wasm | wc -c)
if [ "$size" -gt 400000 ]; then
    echo "FAILED web: supple.wasm is $size bytes compressed, 400000 allowed"
    bad=1
fi
if [ -d web/node_modules/vite ] && ! scripts/studio.sh; then
    echo "FAILED web: the studio does not build"
    bad=1
fi
log=$(SUPPLE_PROGRAM=$1 node --test web/test/*.test.js web/studio/test/*.test.mjs 2>&1) || echo "$log"
count() { sed -n "s/^# $1 //p" <<<"$log"; }
sed -n 's/^ok [0-9]* - \(.*\) # SKIP \(.*\)/skipped web: \1: \2/p' <<<"$log"
failed=$(($(count fail) + $(count cancelled) + bad))
echo "$(count pass) passed, $failed failed, $(count skipped) skipped"
[ "$failed" -eq 0 ]
