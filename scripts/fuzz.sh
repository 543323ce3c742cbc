#!/usr/bin/env bash
# Runs every fuzz target of BUILD for a few seconds on the kept corpus: scripts/fuzz.sh BUILD [SECONDS]
# New inputs go to BUILD/fuzz/; a crash leaves its input there and is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
build=${1:-build-asan}
seconds=${2:-5}
passed=0 failed=0
for program in "$build"/fuzz_*; do
    [ -x "$program" ] || continue
    name=$(basename "$program")
    work=$build/fuzz/${name#fuzz_}
    mkdir -p "$work"
    corpus=()
    for folder in "$work" "tests/fuzz/corpus/${name#fuzz_}"; do
        [ -d "$folder" ] && corpus+=("$folder")
    done
    # A fixed seed: a red run can be repeated. Memory must stay in proportion to a small file.
    if "$program" -seed=1 -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=512 \
        -max_len=65536 -print_final_stats=1 -artifact_prefix="$build/fuzz/${name}_" "${corpus[@]}" >"$work.log" 2>&1; then
        passed=$((passed + 1))
        echo "$name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$work.log") inputs, no crash"
    else
        failed=$((failed + 1))
        echo "FAILED $name: the input is in $build/fuzz/"
        tail -n 40 "$work.log"
    fi
done
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
