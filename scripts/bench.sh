#!/usr/bin/env bash
# Runs every benchmark of build/: scripts/bench.sh [NAME...]
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
[ $found -eq 1 ] || echo "There is no such benchmark in build/."
