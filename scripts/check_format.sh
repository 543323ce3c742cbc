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
status=0
output=$(printf '%s\0' "${files[@]}" | xargs -0 -n 50 -P "$(nproc)" clang-format --dry-run --Werror 2>&1) || status=$?
mapfile -t bad < <(sed -n 's/^\([^:]*\):[0-9].*clang-format.*/\1/p' <<<"$output" | sort -u)
for file in "${bad[@]}"; do report 1 "$file ('make format' formats it)"; done
if [ "$status" -ne 0 ] && [ ${#bad[@]} -eq 0 ]; then report 1 "clang-format stopped: $output"; fi
passed=$((${#files[@]} - ${#bad[@]}))
finish
