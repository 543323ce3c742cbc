#!/usr/bin/env bash
# Compares the ABI of the public headers with that of the last release (docs/abi.md): scripts/check_abi.sh [--write]
# --write stores the ABI of this tree as that of the last release, in tests/abi/libsupple.abi.xml.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
begin abi
build="build-abi"
baseline=tests/abi/libsupple.abi.xml

# Types come from debug information. Optimisation, SIMD kernels and a GPU do not change them.
build_library() {
    scripts/build.sh $build -DCMAKE_C_COMPILER=gcc -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_C_FLAGS_DEBUG=-O0 -g" \
        -DSUPPLE_SCALAR=ON -DSUPPLE_CUDA=OFF -DSUPPLE_WERROR=OFF -DSUPPLE_APP=OFF -DSUPPLE_TESTS=OFF -DSUPPLE_BENCH=OFF \
        -DSUPPLE_SAMPLES=OFF -- supple_shared supple_io supple_cuda
}
soname_of() { readelf -d "$1" | sed -n 's/.*SONAME.*\[\(.*\)\].*/\1/p'; }
# One library with all public functions: libsupple.so has those of supple/device.h only in the static supple_cuda.
link_all() { # result
    gcc -shared -o "$1" "-Wl,-soname,$(soname_of $build/libsupple.so)" \
        -Wl,--whole-archive $build/libsupple_{core,io,cuda}.a -Wl,--no-whole-archive -lm -pthread
}
# Private types and paths of this machine are left out.
write_abi() { # library, result
    abidw --headers-dir include/supple --drop-private-types --suppressions tests/abi/private_types.txt \
        --no-corpus-path --no-comp-dir-path --no-show-locs --no-parameter-names --no-write-default-sizes \
        --drop-undefined-syms --no-elf-needed --out-file "$2" "$1"
    sed -i -e "s|$PWD/||g" -e "s|path='\.\./|path='|" "$2"
}
series_of() { sed -n "1s/.*soname='libsupple\.so\.\([0-9.]*\)'.*/\1/p" "$1"; }
is_newer() { [ "$1" != "$2" ] && [ "$(printf '%s\n' "$1" "$2" | sort -V | tail -n 1)" = "$1" ]; }

# Functions may be added; all else that a program could notice is a failure, unless the SONAME is newer.
compare() { # ABI of this tree
    local old new status=0
    old=$(series_of $baseline) new=$(series_of "$1")
    abidiff --no-added-syms $baseline "$1" || status=$?
    if [ $((status & 3)) -ne 0 ]; then
        report 1 "abidiff could not compare"
    elif is_newer "$old" "$new"; then
        report 1 "this tree has ABI $new, but the last release has the newer $old"
    elif [ "$old" = "$new" ] && [ $status -ne 0 ]; then
        report 1 "ABI $old changed, see above: make it compatible, or raise the version (docs/abi.md)"
    else
        report 0
        echo "ABI $new, last release $old: $([ $status -eq 0 ] && echo compatible || echo "changes are allowed")"
    fi
}

if ! command -v abidw >/dev/null 2>&1; then
    skip "abidw is not installed (package abigail-tools)"
elif [ "$(uname -m)" != x86_64 ]; then
    skip "$baseline is of x86_64"
elif ! { build_library && link_all $build/libsupple_abi.so && write_abi $build/libsupple_abi.so $build/libsupple.abi.xml; }; then
    report 1 "the library could not be built or read"
elif [ "${1:-}" = --write ]; then
    cp $build/libsupple.abi.xml $baseline
    echo "$baseline: ABI $(series_of $baseline), $(stat -c %s $baseline) bytes"
    report 0
else
    compare $build/libsupple.abi.xml
fi
finish
