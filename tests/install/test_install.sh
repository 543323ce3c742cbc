#!/usr/bin/env bash
# test_install.sh BUILD CC - installs to a temporary prefix and builds consumer projects against it.
. "$(dirname "$0")/../app/lib.sh"
build=$1 cc=$2
prefix=$work/pre\ fix
consumer=$source_dir/tests/install/consumer

run 0 "cmake --install" cmake --install "$build" --prefix "$prefix"
library=$(find "$prefix" -name libsupple.so)
libraries=$(dirname "$library")
for file in bin/supple include/supple/supple.h share/man/man1/supple.1 share/bash-completion/completions/supple; do
    check "installs $file" test -s "$prefix/$file"
done
check "installs every header" test "$(find "$prefix/include" -name '*.h' | wc -l)" \
    -eq "$(find "$source_dir/include" -name '*.h' | wc -l)"
run 0 "installed program" "$prefix/bin/supple" --version

# The SONAME carries the minor version while the major version is 0 (docs/abi.md).
version_of() { sed -n "s/^#define SUPPLE_VERSION_$1 //p" "$source_dir/include/supple/base.h"; }
soname=libsupple.so.$(version_of MAJOR)
if [ "$(version_of MAJOR)" -eq 0 ]; then soname=$soname.$(version_of MINOR); fi
check "SONAME" grep -qF "[$soname]" <(readelf -d "$library")

# The shared library exports exactly the functions that the headers declare with SUP_API.
nm -D --defined-only "$library" | awk '{ print $3 }' | sort -u >"$work/given"
# The device API is in a separate library.
declared_in() {
    cat "$@" | tr '\n' ' ' | grep -o -E 'SUP_API [^;(]*\(' | grep -o -E 'sup_[a-z0-9_]+\($' | tr -d '(' | sort -u
}
mapfile -t headers < <(find "$source_dir/include/supple" -name '*.h' ! -name device.h)
declared_in "${headers[@]}" >"$work/declared"
declared_in "$source_dir/include/supple/device.h" >"$work/declared_device"
nm -g --defined-only "$libraries/libsupple_cuda.a" 2>/dev/null | awk '{ print $3 }' | sort -u >"$work/given_device"
check "headers declare something" test "$(wc -l <"$work/declared")" -gt 50
for name in $(comm -23 "$work/given" "$work/declared"); do
    fail "hidden symbols" "$name is exported but not declared in a public header"
done
for name in $(comm -13 "$work/given" "$work/declared"); do
    fail "the API is complete" "$name is declared but not exported"
done
check "device.h declares something" test "$(wc -l <"$work/declared_device")" -gt 10
for name in $(comm -13 "$work/given_device" "$work/declared_device"); do
    fail "the device API is complete" "$name is declared but not exported"
done
pass
check "no dependency but libc, libm and threads" test \
    -z "$(ldd "$library" | grep -v -E 'linux-vdso|ld-linux|libc\.|libm\.|libpthread\.|libgcc_s\.')"

# pkg-config, shared and static.
export PKG_CONFIG_PATH=$libraries/pkgconfig
for kind in supple supple-static; do
    if ! command -v pkg-config >/dev/null; then
        skip "pkg-config $kind" "no pkg-config"
        continue
    fi
    flags=()
    eval "flags=($(pkg-config --cflags --libs $kind))" # pkg-config quotes for a shell
    run 0 "compile with $kind" "$cc" -std=c17 -Wall -Werror "$consumer/main.c" -o "$work/with_$kind" "${flags[@]}"
    run 0 "run with $kind" env LD_LIBRARY_PATH="$libraries" "$work/with_$kind" "$work/$kind.glb"
    check "output with $kind" test -s "$work/$kind.glb"
done
check "shared is shared" bash -c 'LD_LIBRARY_PATH=$2 ldd "$1" | grep -q libsupple' _ "$work/with_supple" "$libraries"
check "static is static" bash -c '! ldd "$1" | grep -q libsupple' _ "$work/with_supple-static"

# find_package.
run 0 "find_package" cmake -S "$consumer" -B "$work/consumer" "-DCMAKE_PREFIX_PATH=$prefix" "-DCMAKE_C_COMPILER=$cc"
run 0 "build with find_package" cmake --build "$work/consumer"
for kind in shared static; do
    run 0 "run with supple::$kind" "$work/consumer/with_$kind" "$work/cmake_$kind.glb"
done
check "all four wrote the same" test "$(sha256sum "$work"/*.glb | cut -d' ' -f1 | sort -u | wc -l)" -eq 1

# A project that embeds Supple with add_subdirectory.
mkdir -p "$work/embed"
cat >"$work/embed/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.18)
project(embed LANGUAGES C)
add_subdirectory("$source_dir" supple)
add_executable(embed "$consumer/main.c")
target_link_libraries(embed PRIVATE supple::supple)
END
run 0 "add_subdirectory" cmake -S "$work/embed" -B "$work/embed/build" "-DCMAKE_C_COMPILER=$cc"
finish
