#!/usr/bin/env bash
# Documents stay true: every citation key in the source is in docs/bibliography.bib, every local link leads somewhere,
# the man page, the packages and the code agree about the version.
set -euo pipefail
# shellcheck source=scripts/lib.sh
. "$(dirname "$0")/lib.sh"
begin docs

while IFS=: read -r file key; do
    grep -q "^@[a-z]*{$key,$" docs/bibliography.bib && known=0 || known=1
    report "$known" "$file cites [$key], which is not in docs/bibliography.bib"
done < <(grep -r -o -E '\[[a-z]+[12][0-9]{3}[a-z]*\]' src include apps \
    --include='*.[ch]' --include='*.cu' --include='*.cuh' | tr -d '[]' | sort -u)

for file in *.md docs/*.md docs/methods/*.md; do
    while read -r link; do
        [ -e "$(dirname "$file")/$link" ] && there=0 || there=1
        report "$there" "$file links to $link, which is not there"
    done < <(grep -o -E '\]\([^)#:]+\)' "$file" | sed 's/^](//; s/)$//' | sort -u)
done

version=$(version_part MAJOR).$(version_part MINOR).$(version_part PATCH)
same_version() { # file, text that must be in it
    grep -qF "$2" "$1" && same=0 || same=1
    report "$same" "$1 and include/supple/base.h have different versions ($version)"
}
same_version CMakeLists.txt "VERSION $version "
same_version docs/supple.1 "Supple $version"
same_version web/package.json "\"version\": \"$version\""
finish
