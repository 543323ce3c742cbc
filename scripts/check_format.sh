#!/usr/bin/env bash
# clang-format on every C, C++ and CUDA file: a difference is a failure. 'scripts/check_format.sh --fix' formats them.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
begin format
project_files "${source_patterns[@]}"
if [ "${1:-}" = --fix ]; then
    printf '%s\0' "${files[@]}" | xargs -0 -n 50 -P "$(nproc)" clang-format -i
    exit 0
fi
# The names of the files of one batch that clang-format would change, in one write: batches run side by side.
changed_files() {
    set -o pipefail
    clang-format --dry-run "$@" 2>&1 | sed -n 's/^\([^:]*\):[0-9].*clang-format.*/\1/p' | sort -u
}
export -f changed_files
status=0
output=$(printf '%s\0' "${files[@]}" | xargs -0 -n 50 -P "$(nproc)" bash -c 'changed_files "$@"' _) || status=$?
mapfile -t bad < <(sort <<<"$output")
for file in "${bad[@]}"; do
    if [ -n "$file" ]; then report 1 "$file ('make format' formats it)"; fi
done
passed=$((${#files[@]} - failed))
if [ "$status" -ne 0 ]; then report 1 "clang-format stopped"; fi
finish
