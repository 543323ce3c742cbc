#!/usr/bin/env bash
# Files of at most 800 lines, functions of at most 120: from their first line to the closing brace in column 0.
# Functions of tests may be longer: they hold tables of cases.
set -euo pipefail
cd "$(dirname "$0")/.."
passed=0 failed=0
while IFS= read -r -d '' file; do
    bad=$(awk -v file="$file" '
        /^[a-zA-Z_].*[^;{]$|^[a-zA-Z_].*[)]$/ { head = FNR }
        /^\{/ { begin = head ? head : FNR }
        /^\}/ { if (begin && FNR - begin + 1 > 120 && file !~ /^tests\//)
                    printf "%s:%d: a function of %d lines, 120 at most\n", file, begin, FNR - begin + 1
                begin = 0; head = 0 }
        END { if (FNR > 800) printf "%s: %d lines, 800 at most\n", file, FNR }' "$file")
    if [ -z "$bad" ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED size: $bad"
    fi
done < <(git ls-files -z --cached --others --exclude-standard '*.c' '*.h' ':!third_party')
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
