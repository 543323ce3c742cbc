#!/usr/bin/env bash
# Runs benchmarks of build/ and appends their results to bench/results/MACHINE.csv: scripts/bench_append.sh [NAME...]
# NAME: methods ('supple bench'), table, measure, pipeline; default: all. The environment may set
#   SUPPLE_MACHINE   name of the CSV file and the machine column; default: processor and number of cores
#   SUPPLE_BENCH     arguments of 'supple bench'; default: scene:human --threads 1
#   SUPPLE_RESULTS   folder of the CSV file; default: bench/results
set -euo pipefail
cd "$(dirname "$0")/.."

processor=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)
machine=${SUPPLE_MACHINE:-${processor:-$(uname -m)} $(getconf _NPROCESSORS_ONLN) cores}
machine=$(tr -cs 'A-Za-z0-9\n' _ <<<"$machine" | tr '[:upper:]' '[:lower:]' | sed 's/^_//; s/_$//')
commit=$(git rev-parse --short=10 HEAD)
git diff --quiet HEAD -- src include apps bench cmake ':!bench/results' || commit=$commit-dirty
date=$(date -u +%Y-%m-%d)
folder=${SUPPLE_RESULTS:-bench/results}
results=$folder/$machine.csv
log=$(mktemp)
trap 'rm -f "$log"' EXIT

[ $# -gt 0 ] || set -- methods table measure pipeline
for name in "$@"; do
    case $name in
    methods) read -r -a arguments <<<"bench ${SUPPLE_BENCH:-scene:human --threads 1} --json" && program=build/supple ;;
    table) arguments=(1) && program=build/bench_table ;;
    measure | pipeline) arguments=() && program=build/bench_$name ;;
    *)
        echo "bench_append: unknown benchmark '$name'; available: methods, table, measure, pipeline." >&2
        exit 1
        ;;
    esac
    if [ ! -x "$program" ]; then
        echo "bench_append: $program is missing; run 'make build'." >&2
        exit 1
    fi
    echo "== $program ${arguments[*]-}"
    "$program" ${arguments[@]+"${arguments[@]}"} >"$log"
    mkdir -p "$folder"
    [ -s "$results" ] || echo "date,commit,machine,benchmark,case,value,unit,ratio_to_reference" >"$results"
    python3 scripts/bench_rows.py "$name" "$date" "$commit" "$machine" <"$log" | tee -a "$results"
done
echo "$results: $(($(wc -l <"$results") - 1)) rows; scripts/bench_plot.py plots them"
