#!/usr/bin/env bash
# A tuning constant is written once. Fails where a numeric constant in capitals (#define NAME number, static const float
# NAME = number, enum NAME = number) is defined both in src/cuda and in the rest of src under one name, and where a
# comment in src/cuda says that a value is that of a CPU file ("as in", "see solver.c"). Not compared: sizes that belong
# to one kernel (threads, lanes), indices of sums, and folders that have no GPU implementation. Prints each finding and
# a closing line.
set -euo pipefail
cd "$(dirname "$0")/.."
passed=0 failed=0

report() { # 0 or 1, message
    if [ "$1" -eq 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "FAILED constants: $2"
    fi
}

# "NAME file" of every numeric constant in the files of stdin. Comments are removed first; enumerations may span lines.
constants() {
    xargs -r perl -0ne '
        s{/\*.*?\*/}{}gs; s{//[^\n]*}{}g;
        my $number = qr{\(?\s*-?(?:\d|\.\d)[\w.+<\s*/()-]*};
        my %found;
        $found{$1} = 1 while /^[ \t]*#[ \t]*define[ \t]+([A-Z][A-Z0-9_]+)[ \t]+$number[ \t]*$/mg;
        while (/\b(?:static|constexpr)\s+(?:const\s+)?(?:float|double|int|int32_t|unsigned)\s+([^;{}()]*?);/g) {
            my $list = $1;
            $found{$1} = 1 while $list =~ /\b([A-Z][A-Z0-9_]+)\s*=\s*$number/g;
        }
        while (/\benum\b[^{};]*\{([^}]*)\}/g) {
            my $list = $1;
            $found{$1} = 1 while $list =~ /\b([A-Z][A-Z0-9_]+)\s*=\s*$number/g;
        }
        print "$_ $ARGV\n" for sort keys %found;'
}

# Constants of a launch or of a data layout, which every file has for itself.
own='^(THREADS|LANES|SUP_LANES|NONE|T|N|HEAD_COUNT|MAGIC|AT_ONCE|LIMIT|CHUNK|STAGES|WARPS|GRAIN|SUM_[A-Z]+) '
# Ideas without a GPU implementation: equal names there are chance.
without_gpu='^src/(cuda|anatomy|measure|scenes|load|output|methods/(position|implicit))/'

cpu=$(find src -name '*.[ch]' | grep -Ev "$without_gpu" | constants | grep -Ev "$own" | sort -u)
gpu=$(find src/cuda -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' | constants | grep -Ev "$own" | sort -u)
count=$(echo "$gpu" | grep -c . || true)
report "$([ "$count" -gt 0 ] && echo 0 || echo 1)" "no constant was found in src/cuda: check this script"
while read -r name file; do
    [ -n "$name" ] || continue
    other=$(echo "$cpu" | awk -v name="$name" '$1 == name { print $2; exit }')
    report "$([ -z "$other" ] && echo 0 || echo 1)" "$name is defined in $file and in $other: keep one, in a *_tuning.h"
done <<<"$gpu"

# Comments that point to a copy of a value in a CPU file.
copies=$(grep -nEi '#define|static const|enum|^[[:space:]]*/\*' -r src/cuda --include='*.c' --include='*.h' \
    --include='*.cu' --include='*.cuh' | grep -Ei '\b(as in|see)[[:space:]]+([a-z_]+/)*[a-z_0-9]+\.c\b' || true)
while IFS= read -r line; do
    [ -n "$line" ] || continue
    file=${line%%:*} rest=${line#*:}
    number=${rest%%:*} # a pointer matters where it stands on a constant or right above one
    near=$(sed -n "${number},$((number + 2))p" "$file" | grep -cE '#[[:space:]]*define [A-Z0-9_]+ [-(]?[0-9.]|[A-Z][A-Z0-9_]+ = [-(]?[0-9.]' || true)
    report "$([ "$near" -eq 0 ] && echo 0 || echo 1)" "$file:$number repeats a value of a CPU file: include its *_tuning.h"
done <<<"$copies"

echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" -eq 0 ]
