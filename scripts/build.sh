#!/usr/bin/env bash
# Configures and builds one folder: scripts/build.sh FOLDER [cmake options] [-- ninja targets]
# Quiet when all is well; the whole story when not.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1
shift
options=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    options+=("$1")
    shift
done
[ $# -eq 0 ] || shift

# A build folder that was copied or moved with its tree names the old place: start it afresh.
if [ -f "$folder/CMakeCache.txt" ] && ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$folder/CMakeCache.txt"; then
    rm -rf "$folder"
fi
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! cmake -S . -B "$folder" -G Ninja "${options[@]}" >"$log" 2>&1; then
    cat "$log" >&2
    echo "build: cmake could not configure $folder; its words are above." >&2
    exit 1
fi
if [ -t 1 ]; then
    exec ninja -C "$folder" "$@"
fi
if ! ninja -C "$folder" "$@" >"$log" 2>&1; then
    grep -v '^\[[0-9]' "$log" >&2
    echo "build: $folder could not be built; the compiler's words are above." >&2
    exit 1
fi
