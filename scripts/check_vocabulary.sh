#!/usr/bin/env bash
# Words that were renamed do not come back: no file of the project matches a pattern of scripts/vocabulary.txt.
# Not checked: the glossary, which explains old words; sections of CHANGELOG.md about releases; this script.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
export LC_ALL=C.UTF-8
begin vocabulary
project_files '*.c' '*.h' '*.cpp' '*.cu' '*.cuh' '*.js' '*.mjs' '*.py' '*.sh' '*.md' '*.html' '*.cmake' '*.1' \
    ':!docs/glossary.md' ':!scripts/check_vocabulary.sh' ':!CHANGELOG.md'
all_files=("${files[@]}")

is_selected() { # file, globs: in one of them, or none is given, and in none that begins with !
    local file=$1 glob only=0 selected=0
    shift
    for glob in "$@"; do
        # shellcheck disable=SC2053 # the right side is a glob
        case $glob in
        '!'*) if [[ $file == ${glob#!} ]]; then return 1; fi ;;
        *)
            only=1
            if [[ $file == $glob ]]; then selected=1; fi
            ;;
        esac
    done
    [ "$selected" -eq 1 ] || [ "$only" -eq 0 ]
}
# Sets 'files' to the files in which a pattern is looked for.
select_files() { # globs
    local file
    if [ $# -eq 0 ]; then
        files=("${all_files[@]}")
        return
    fi
    files=()
    for file in "${all_files[@]}"; do
        if is_selected "$file" "$@"; then files+=("$file"); fi
    done
}
unreleased_changes() { awk '/^## \[[0-9]/ { exit } { print }' CHANGELOG.md; }
# Prints file:line:word for each match; fails when grep does not accept the pattern.
matches_of() { # pattern
    local status=0
    if [ ${#files[@]} -gt 0 ]; then grep -H -n -o -P -e "$1" "${files[@]}" || status=$?; fi
    [ "$status" -le 1 ] || return 1
    unreleased_changes | grep -H --label=CHANGELOG.md -n -o -P -e "$1" || status=$?
    [ "$status" -le 1 ]
}

set -f # globs of the file are for 'is_selected', not for the shell
while IFS=$'\t' read -r pattern instead globs; do
    case $pattern in '' | '#'*) continue ;; esac
    # shellcheck disable=SC2086 # they are words
    select_files $globs
    if ! matches=$(matches_of "$pattern" 2>&1); then
        report 1 "scripts/vocabulary.txt: grep does not accept \"$pattern\": $matches"
        continue
    fi
    [ -n "$matches" ] || report 0
    while IFS=: read -r file line word; do
        if [ -n "$file" ]; then report 1 "$file:$line: \"$word\" (use \"$instead\")"; fi
    done <<<"$matches"
done <scripts/vocabulary.txt
finish
