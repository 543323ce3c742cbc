#!/usr/bin/env bash
# Files of at most 800 lines, functions of at most 120: from their first line to the closing brace in column 0.
# Functions of tests may be longer: they hold tables of cases.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
begin size
project_files "${source_patterns[@]}"
for file in "${files[@]}"; do
    bad=$(awk -v file="$file" '
        /^[a-zA-Z_].*[^;{]$|^[a-zA-Z_].*[)]$/ { head = FNR }
        /^\{/ { begin = head ? head : FNR }
        /^\}/ { if (begin && FNR - begin + 1 > 120 && file !~ /^tests\//)
                    printf "%s:%d: a function of %d lines, 120 at most\n", file, begin, FNR - begin + 1
                begin = 0; head = 0 }
        END { if (FNR > 800) printf "%s: %d lines, 800 at most\n", file, FNR }' "$file")
    report "$([ -z "$bad" ] && echo 0 || echo 1)" "$bad"
done
finish
