# lib.sh - functions that the check scripts share. Source it, call 'begin NAME', the checks, and 'finish' last.
# shellcheck shell=bash
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
check_name=check passed=0 failed=0 skipped=0

begin() { # name of the check, used in messages
    check_name=$1
}
report() { # 0 or 1, message for a failure
    if [ "$1" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED $check_name: $2"
    fi
}
skip() { # reason
    skipped=$((skipped + 1))
    echo "skipped $check_name: $1"
}
finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
}

# Sets the array 'files' to the files of the project that match the patterns: tracked ones, and new ones that git does
# not ignore. Without git it would be empty, and a check of no file would pass: that is a failure.
project_files() { # patterns of git ls-files
    local file
    files=()
    while IFS= read -r -d '' file; do
        if [ -f "$file" ]; then files+=("$file"); fi
    done < <(git ls-files -z --cached --others --exclude-standard -- "$@" ':!third_party')
    if [ ${#files[@]} -eq 0 ]; then
        report 1 "git lists no file that matches: $*"
        finish || exit 1
    fi
}
# shellcheck disable=SC2034 # used by the scripts that source this file
source_patterns=('*.c' '*.h' '*.cpp' '*.cu' '*.cuh')

# The version of include/supple/base.h: version_part MAJOR, MINOR or PATCH.
version_part() { sed -n "s/^#define SUPPLE_VERSION_$1 //p" include/supple/base.h; }
