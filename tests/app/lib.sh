# lib.sh - shared by the tests of the program. Source it, call the checks, end with 'finish'.
# Each check is one test and prints its name when it fails; later checks still run.
# shellcheck shell=bash disable=SC2034,SC2059,SC2154 # variables are used and set by the sourcing script; printf writes bytes
set -u
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
assets=${SUPPLE_ASSETS:-$source_dir/../shared/assets}
work=$(mktemp -d "${TMPDIR:-/tmp}/supple test.XXXXXX") # the space finds unquoted paths
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
passed=0 failed=0 skipped=0

pass() { passed=$((passed + 1)); }
fail() { # name, why
    failed=$((failed + 1))
    echo "FAILED $1: $2"
    if [ -s "$work/err" ]; then sed 's/^/    stderr: /' "$work/err" | head -n 20; fi
}
skip() { # name, why
    skipped=$((skipped + 1))
    echo "skipped $1: $2"
}
check() { # name, command...
    local name=$1
    shift
    if "$@"; then pass; else fail "$name" "$*"; fi
}

# run EXPECTED NAME command...: runs the command with stdout and stderr in $work/out and $work/err and checks its exit
# status. Sanitizer failures get the status 99, which supple does not use.
export ASAN_OPTIONS="${ASAN_OPTIONS:-}:exitcode=99" UBSAN_OPTIONS="${UBSAN_OPTIONS:-}:print_stacktrace=1:exitcode=99"
export TSAN_OPTIONS="${TSAN_OPTIONS:-}:exitcode=99" LSAN_OPTIONS="${LSAN_OPTIONS:-}:exitcode=99"
run() {
    local expected=$1 name=$2 status
    shift 2
    "$@" >"$work/out" 2>"$work/err"
    status=$?
    if [ "$status" -eq "$expected" ]; then
        pass
        return 0
    fi
    fail "$name" "exit status $status instead of $expected: $*"
    return 1
}

# refuse EXPECTED NAME PATTERN command...: the command must fail with this status and print exactly one line to stderr
# that starts with "supple: " and matches the pattern (extended regular expression, case-insensitive).
refuse() {
    local expected=$1 name=$2 pattern=$3
    shift 3
    run "$expected" "$name" "$@" || return 1
    if [ "$(wc -l <"$work/err")" -ne 1 ] || ! grep -q '^supple: ' "$work/err"; then
        fail "$name" "stderr is not exactly one supple message"
    elif ! grep -q -i -E -- "$pattern" "$work/err"; then
        fail "$name" "stderr does not match '$pattern'"
    else
        pass
    fi
}

# The value of a key in the JSON output of the last run (first occurrence).
json_number() { sed -n "s/^ *\"$1\": \(-\{0,1\}[0-9.e+-]*\),\{0,1\}\$/\1/p" "$work/out" | head -n 1; }

# --- A skinned triangle with one clip, as glTF text; the bad input tests corrupt it ---
le32() { printf \
    "\\x$(printf %02x $(($1 & 255)))\\x$(printf %02x $(($1 >> 8 & 255)))\\x$(printf %02x $(($1 >> 16 & 255)))\\x$(printf %02x $(($1 >> 24 & 255)))"; }
f32_zero='\x00\x00\x00\x00' f32_one='\x00\x00\x80\x3f' f32_nan='\x00\x00\xc0\x7f'

# 180 bytes: 3 positions, 3 normals, 3 joint quadruples, 3 weight quadruples, 3 indices, 2 times, 2 rotations.
# $position, $weight, $joint, $index, $time replace the first number of each.
triangle_bytes() {
    local o=$f32_zero i=$f32_one v
    printf "${position:-$o}$o$o$i$o$o$o$i$o" # offset 0
    for v in 1 2 3; do printf "$o$o$i"; done # 36
    printf "\\x${joint:-00}\\x00\\x00\\x00\\x01\\x00\\x00\\x00\\x01\\x00\\x00\\x00" # 72
    printf "${weight:-$i}$o$o$o$i$o$o$o$i$o$o$o" # 84
    printf "\\x${index:-00}\\x00\\x01\\x00\\x02\\x00\\x00\\x00" # 132
    printf "${time:-$o}$i" # 140
    printf "$o$o$o$i$o$o$i$o" # 148 to 180
}

# The variables above and $count, $root, $joints, $view, $length, $version, $buffer corrupt the document.
triangle_gltf() {
    cat <<END
{"asset": {"version": "${version:-2.0}"}, "scene": 0, "scenes": [{"nodes": [0, 1]}],
 "nodes": [{"mesh": 0, "skin": 0}, {"name": "root", "children": [${root:-2}]}, {"name": "tip", "translation": [0, 0.5, 0]}],
 "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "NORMAL": 1, "JOINTS_0": 2, "WEIGHTS_0": 3}, "indices": 4}]}],
 "skins": [{"joints": [${joints-1, 2}]}],
 "animations": [{"name": "turn", "samplers": [{"input": 5, "output": 6}],
                 "channels": [{"sampler": 0, "target": {"node": 2, "path": "rotation"}}]}],
 "accessors": [
  {"bufferView": ${view:-0}, "componentType": 5126, "count": ${count:-3}, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 0]},
  {"bufferView": 0, "byteOffset": 36, "componentType": 5126, "count": ${count:-3}, "type": "VEC3"},
  {"bufferView": 0, "byteOffset": 72, "componentType": 5121, "count": ${count:-3}, "type": "VEC4"},
  {"bufferView": 0, "byteOffset": 84, "componentType": 5126, "count": ${count:-3}, "type": "VEC4"},
  {"bufferView": 0, "byteOffset": 132, "componentType": 5123, "count": ${indices:-3}, "type": "SCALAR"},
  {"bufferView": 0, "byteOffset": 140, "componentType": 5126, "count": 2, "type": "SCALAR", "min": [0], "max": [1]},
  {"bufferView": 0, "byteOffset": 148, "componentType": 5126, "count": 2, "type": "VEC4"}],
 "bufferViews": [{"buffer": 0, "byteLength": 180}],
 "buffers": [{"byteLength": ${length:-180}, "uri": "${buffer:-data:application/octet-stream;base64,$(triangle_bytes | base64 -w 0)}"}]}
END
}

finish() {
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" -eq 0 ]
    exit
}
