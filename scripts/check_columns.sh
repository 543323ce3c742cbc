#!/usr/bin/env bash
# No line of a source file is longer than 120 characters, comments included: clang-format does not split every comment,
# and it does not read JavaScript here.
set -euo pipefail
export LC_ALL=C.UTF-8 # a character is a column, however many bytes it has
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
begin columns
project_files "${source_patterns[@]}" '*.js' '*.mjs' '*.ts'
while IFS= read -r match; do
    report 1 "$match"
done < <(grep -n -o -P '^.{121,}' "${files[@]}" | awk -F: '{ print $1 ":" $2 ": more than 120 columns" }')
long=$(grep -l -P '^.{121,}' "${files[@]}" || true) # grep fails where nothing matches
passed=$((${#files[@]} - $(printf '%s' "$long" | grep -c . || true)))
finish
