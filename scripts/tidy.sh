#!/usr/bin/env bash
# clang-tidy on every C file that BUILD/compile_commands.json names: scripts/tidy.sh BUILD
# Kernels are compiled once per instruction set from one source: NAME_base.c stands for NAME_avx2.c and NAME_avx512.c.
# A file that was clean before is not looked at again until it, a header or .clang-tidy changes.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build-asan}
database=$build/compile_commands.json
[ -f "$database" ] || {
    echo "tidy: $database is missing: configure that build first." >&2
    exit 1
}
stamps=$build/tidy
mkdir -p "$stamps"
root=$PWD
common=$( (cat .clang-tidy && find include src tests apps samples -name '*.h' -print0 | sort -z | xargs -0 cat) | sha256sum)

# A stamp's name is the hash of all that the answer depends on.
todo=()
total=0
while IFS= read -r file; do
    case $file in *_avx2.c | *_avx512.c) continue ;; "$root"/*.c) ;; *) continue ;; esac
    total=$((total + 1))
    key=$( (echo "$common $file" && cat "$file") | sha256sum | cut -c1-32)
    [ -e "$stamps/$key" ] || todo+=("$key" "$file")
done < <(sed -n 's/^  "file": "\(.*\)",\{0,1\}$/\1/p' "$database" | sort -u)

check_one() { # key file; the answer in one piece
    local output
    if output=$(clang-tidy --quiet -p "$TIDY_BUILD" "$2" 2>&1 | grep -v 'warnings\{0,1\} generated') && [ -n "$output" ]; then
        printf 'FAILED tidy: %s\n%s\n' "$2" "$output"
    else
        : >"$TIDY_STAMPS/$1"
    fi
}
export -f check_one
export TIDY_BUILD=$build TIDY_STAMPS=$stamps
log=$stamps/log
: >"$log"
if [ ${#todo[@]} -gt 0 ]; then
    printf '%s\0' "${todo[@]}" | xargs -0 -n 2 -P "$(nproc)" bash -c "check_one \"\$@\"" _ >"$log"
    cat "$log"
fi
failed=$(grep -c '^FAILED tidy' "$log" || true)
echo "$((total - failed)) passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
