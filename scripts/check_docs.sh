#!/usr/bin/env bash
# Documents stay true: every citation key in the source is in docs/bibliography.bib, every local link leads somewhere,
# the man page and the code agree about the version.
set -euo pipefail
cd "$(dirname "$0")/.."
passed=0 failed=0
report() { # 0 or 1, message
    if [ "$1" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED docs: $2"
    fi
}

while IFS=: read -r file key; do
    grep -q "^@[a-z]*{$key,$" docs/bibliography.bib && known=0 || known=1
    report "$known" "$file cites [$key], which is not in docs/bibliography.bib"
done < <(grep -r -o -E '\[[a-z]+[12][0-9]{3}[a-z]*\]' src include apps --include='*.[ch]' | tr -d '[]' | sort -u)

for file in *.md docs/*.md docs/methods/*.md; do
    while read -r link; do
        [ -e "$(dirname "$file")/$link" ] && there=0 || there=1
        report "$there" "$file links to $link, which is not there"
    done < <(grep -o -E '\]\([^)#:]+\)' "$file" | sed 's/^](//; s/)$//' | sort -u)
done

version=$(sed -n 's/^#define SUP_VERSION_[A-Z]* //p' include/supple/base.h | paste -sd.)
grep -q "VERSION $version " CMakeLists.txt && same=0 || same=1
report "$same" "CMakeLists.txt and include/supple/base.h have different versions"
grep -q "Supple $version" docs/supple.1 && same=0 || same=1
report "$same" "docs/supple.1 and include/supple/base.h have different versions"
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
