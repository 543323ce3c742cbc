#!/usr/bin/env bash
# Runs the benchmarks in build/: scripts/bench.sh [NAME...]; scripts/bench_append.sh records results over commits.
set -euo pipefail
cd "$(dirname "$0")/.."
found=0
for program in build/bench_*; do
    if [ ! -f "$program" ] || [ ! -x "$program" ]; then continue; fi
    name=$(basename "$program")
    if [ $# -gt 0 ] && [[ " $* " != *" ${name#bench_} "* ]]; then continue; fi
    found=1
    echo "== $name"
    "$program"
done
[ $found -eq 1 ] || echo "No such benchmark in build/."
