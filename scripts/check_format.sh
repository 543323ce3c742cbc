#!/usr/bin/env bash
# clang-format on every C file of the project: a difference is a failure. 'scripts/check_format.sh --fix' mends them.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -d '' files < <(git ls-files -z --cached --others --exclude-standard '*.c' '*.h' ':!third_party')
if [ "${1:-}" = --fix ]; then
    clang-format -i "${files[@]}"
    exit 0
fi
bad=$(clang-format --dry-run "${files[@]}" 2>&1 | sed -n 's/^\([^:]*\):[0-9].*clang-format.*/\1/p' | sort -u)
failed=0
if [ -n "$bad" ]; then
    failed=$(echo "$bad" | wc -l)
    while IFS= read -r file; do echo "FAILED format: $file ('make format' mends it)"; done <<<"$bad"
fi
echo "$((${#files[@]} - failed)) passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
