#!/usr/bin/env bash
# Installs what is missing of the Debian packages that a target needs: scripts/setup.sh build|test|check|studio
# Asks dpkg and the PATH first; touches the network only when something is missing.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${1:-build}

# A line per need: package, and what shows that it is there already however it came (a command, or a file).
build_needs='
gcc            command gcc
g++            command g++
libc6-dev      file /usr/include/stdio.h
cmake          command cmake
ninja-build    command ninja
libassimp-dev  file /usr/include/assimp/cimport.h
libembree-dev  cmake embree
libpng-dev     file /usr/include/png.h
ffmpeg         command ffmpeg
'
studio_needs='
cmake            command cmake
ninja-build      command ninja
clang            command clang
nodejs           command node
npm              command npm
lld              command wasm-ld
llvm             command llvm-strip
wasi-libc        file /usr/include/wasm32-wasi/stdio.h
libclang-rt-dev-wasm32  wasm builtins
'
test_needs="$build_needs$studio_needs"'
clang-format     command clang-format
pkg-config       command pkg-config
shellcheck       command shellcheck
chromium         command chromium
'
check_needs="$test_needs"'
clang-tidy       command clang-tidy
libclang-rt-dev  runtime asan fuzzer tsan
abigail-tools    command abidiff
'

is_there() { # kind, names...
    local kind=$1 name
    shift
    case $kind in
    command) command -v "$1" >/dev/null 2>&1 ;;
    file) [ -e "$1" ] ;;
    cmake) compgen -G "/usr/lib/*/cmake/$1*" >/dev/null || compgen -G "/usr/local/lib*/cmake/$1*" >/dev/null ;;
    runtime)
        command -v clang >/dev/null 2>&1 || return 1
        for name in "$@"; do
            [ -e "$(clang -print-file-name="libclang_rt.$name-$(uname -m).a")" ] || return 1
        done
        ;;
    wasm) command -v clang >/dev/null 2>&1 && [ -e "$(dirname "$(clang -print-runtime-dir)")/wasi/libclang_rt.builtins-wasm32.a" ] ;;
    esac
}

missing=()
case $target in
build) needs=$build_needs ;;
test) needs=$test_needs ;;
check) needs=$check_needs ;;
studio) needs=$studio_needs ;;
*)
    echo "setup: say what to set up: scripts/setup.sh build|test|check|studio" >&2
    exit 1
    ;;
esac
while read -r package check; do
    [ -n "$package" ] || continue
    # shellcheck disable=SC2086 # the check is several words
    if is_there $check; then continue; fi
    if dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed'; then continue; fi
    missing+=("$package")
done <<<"$needs"

install_packages() {
    local sudo=()
    if ! command -v apt-get >/dev/null 2>&1; then
        echo "setup: these Debian packages are missing and there is no apt-get here: $*" >&2
        echo "setup: install what your system calls them and run this again." >&2
        return 1
    fi
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null 2>&1; then
            echo "setup: these packages are missing: $*" >&2
            echo "setup: run 'apt-get install $*' as root, then this again." >&2
            return 1
        fi
        sudo=(sudo)
    fi
    echo "Installing what is missing: $*"
    # DEBIAN_FRONTEND goes through env, because sudo drops it.
    "${sudo[@]}" apt-get update -qq &&
        "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

if [ ${#missing[@]} -gt 0 ]; then
    if ! install_packages "${missing[@]}"; then
        # These only add something (FBX and Collada, pictures, films): everything else works without them.
        for package in "${missing[@]}"; do
            case $package in
            libassimp-dev) echo "setup: going on without Assimp: FBX and Collada files cannot be read." >&2 ;;
            libembree-dev | libpng-dev) echo "setup: going on without $package: no pictures can be made." >&2 ;;
            lld | llvm | wasi-libc | libclang-rt-dev-wasm32)
                echo "setup: going on without $package: the WebAssembly package is not built and its tests are skipped." >&2
                ;;
            chromium) echo "setup: going on without Chromium: the tests of the studio are skipped." >&2 ;;
            abigail-tools) echo "setup: going on without abidiff: the ABI is not compared with the last release." >&2 ;;
            ffmpeg) echo "setup: going on without ffmpeg: no films can be made." >&2 ;;
            *)
                echo "setup: the packages above could not be installed; is the network there?" >&2
                exit 1
                ;;
            esac
        done
    fi
fi

# What the tests need from npm, in its folder; tests are skipped by name when it cannot be had.
fetch_npm() { # folder, what it is
    [ -f "$1/package-lock.json" ] && [ ! -d "$1/node_modules" ] || return 0
    echo "Fetching $2 (npm ci in $1)"
    # npm ci wants every platform's optional packages in the lock file, and not every registry has them all.
    local options=(--silent --no-audit --no-fund --prefer-offline --fetch-retries=1 --fetch-timeout=20000)
    if ! (cd "$1" && { npm ci "${options[@]}" || npm install --no-save "${options[@]}"; }); then
        rm -rf "$1/node_modules"
        echo "setup: $2 could not be fetched; tests that need it are skipped." >&2
    fi
}
if [ "$target" = test ] || [ "$target" = check ]; then
    fetch_npm tests/validator "the glTF validator"
fi
if [ "$target" != build ]; then fetch_npm web "three.js and Vite"; fi
