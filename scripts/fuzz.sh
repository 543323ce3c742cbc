#!/usr/bin/env bash
# Runs every fuzz target of BUILD for a few seconds on the kept corpus, one a core: scripts/fuzz.sh BUILD [SECONDS]
# New inputs go to BUILD/fuzz/; a crash leaves its input there and is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
export FUZZ_BUILD=${1:-build-asan} FUZZ_SECONDS=${2:-5}

fuzz_one() { # program; the answer in one piece
    local program=$1 name work corpus=() folder
    name=$(basename "$program")
    work=$FUZZ_BUILD/fuzz/${name#fuzz_}
    mkdir -p "$work"
    for folder in "$work" "tests/fuzz/corpus/${name#fuzz_}"; do
        [ -d "$folder" ] && corpus+=("$folder")
    done
    # A fixed seed: a red run can be repeated. Memory must stay in proportion to a small file.
    if "$program" -seed=1 -max_total_time="$FUZZ_SECONDS" -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=512 \
        -max_len=65536 -print_final_stats=1 -artifact_prefix="$FUZZ_BUILD/fuzz/${name}_" "${corpus[@]}" >"$work.log" 2>&1; then
        echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$work.log") inputs, no crash"
    else
        printf 'FAILED %s: the input is in %s/fuzz/\n%s\n' "$name" "$FUZZ_BUILD" "$(tail -n 40 "$work.log")"
    fi
}
export -f fuzz_one
programs=()
for program in "$FUZZ_BUILD"/fuzz_*; do
    [ -f "$program" ] && [ -x "$program" ] && programs+=("$program")
done
[ ${#programs[@]} -gt 0 ] || {
    echo "fuzz: $FUZZ_BUILD has no fuzz targets: build it with -DSUPPLE_FUZZ=ON." >&2
    exit 1
}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
printf '%s\0' "${programs[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -c 'fuzz_one "$1"' _ >"$log"
cat "$log"
failed=$(grep -c '^FAILED fuzz_' "$log" || true)
echo "$((${#programs[@]} - failed)) passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
