#!/usr/bin/env bash
# test_bad_input.sh SUPPLE - corrupt and inconsistent files, unwritable outputs, Ctrl-C: correct exit status, one error
# message, no partial output, existing output unchanged.
. "$(dirname "$0")/lib.sh"
supple=$(realpath "$1")
cd "$work" || exit 1

# nothing_new NAME: no output, no temporary file.
nothing_new() {
    local found
    found=$(find . -name 'out.*' -o -name '*part*' | head -n 3)
    if [ -z "$found" ]; then pass; else fail "$1" "left behind: $found"; fi
    rm -rf out.*
}
bad() { # STATUS NAME PATTERN FILE [options]: info and bake both reject the file
    local status=$1 name=$2 pattern=$3 file=$4
    shift 4
    refuse "$status" "info: $name" "$pattern" "$supple" info "$file"
    check "info: $name names the file" grep -q -F -- "$file" err
    refuse "$status" "bake: $name" "$pattern" "$supple" bake "$file" -o out.glb "$@"
    nothing_new "bake: $name"
}
damage() { # NAME, variables of triangle_gltf set by the caller
    triangle_gltf >"$1.gltf"
}

# --- The uncorrupted file works ---
triangle_gltf >good.gltf
run 0 "good file" "$supple" bake --method linear good.gltf -o good.glb --quiet
run 0 "good file again" "$supple" info good.glb --json
check "three vertices" test "$(json_number vertices)" = 3
run 0 "glb for cutting" "$supple" bake --method linear scene:cylinder@0.5 -o whole.glb --frames 0:3 --quiet

# --- Files that cannot be read ---
bad 2 "missing file" 'no such file|cannot' missing.glb
: >empty.glb
bad 2 "empty file" '.' empty.glb
mkdir folder.glb
bad 2 "folder" 'folder|directory' folder.glb
ln -s nowhere.glb dangling.glb
bad 2 "dangling link" 'no such file|cannot' dangling.glb
ln -s loop.glb loop.glb
bad 2 "looping link" '.' loop.glb
cp good.gltf unknown.xyz
bad 2 "unknown ending" '\.glb' unknown.xyz
cp good.gltf noending
bad 2 "no ending" '\.glb' noending

# --- Truncated and inconsistent containers ---
size=$(stat -c %s whole.glb)
for bytes in 1 4 11 12 19 20 40 $((size / 2)) $((size - 1)); do
    head -c $bytes whole.glb >cut.glb
    bad 2 "cut to $bytes bytes" '.' cut.glb
done
{ head -c 8 whole.glb; printf '\xff\xff\xff\xff'; tail -c +13 whole.glb; } >long.glb
bad 2 "4 GB length field" '.' long.glb
{ head -c 12 whole.glb; printf '\xff\xff\xff\xff'; tail -c +17 whole.glb; } >chunk.glb
bad 2 "4 GB chunk" '.' chunk.glb
{ printf 'glTF\x02\x00\x00\x00'; le32 12; } >nochunk.glb
bad 2 "no chunk" '.' nochunk.glb
head -c 4096 /dev/urandom >noise.glb
bad 2 "noise" '.' noise.glb
for ending in gltf obj off ply stl skel bvh ini; do
    head -c 4096 /dev/urandom >noise.$ending
    bad 2 "noise .$ending" '.' noise.$ending
    : >nothing.$ending
    bad 2 "empty .$ending" '.' nothing.$ending
done
printf '{"asset": {"version": "2.0"}' >open.gltf
bad 2 "JSON cut short" '.' open.gltf
printf '[[[[%.0s' {1..20000} >deep.gltf
bad 2 "deep JSON" '.' deep.gltf

# --- Inconsistent documents ---
index=07 damage index && bad 2 "index out of range" '.' index.gltf
joint=09 damage joint && bad 2 "joint out of range" '.' joint.gltf
count=1000000000 damage count && bad 2 "a billion vertices" '.' count.gltf
count=-1 damage negative && bad 2 "negative count" '.' negative.gltf
count=1e99 damage huge && bad 2 "count 1e99" '.' huge.gltf
view=7 damage view && bad 2 "missing buffer view" '.' view.gltf
length=4294967295 damage length && bad 2 "4 GB buffer" '.' length.gltf
root=1 damage self && bad 2 "node that is its own child" 'cycle|parent|tree|loop' self.gltf
root=99 damage child && bad 2 "missing child" '.' child.gltf
joints='' damage nojoints && bad 2 "skin without joints" 'joint' nojoints.gltf
joints='1, 77' damage alien && bad 2 "joint without a node" '.' alien.gltf
version=9.0 damage version && bad 2 "glTF 9" 'version' version.gltf
buffer='data:application/octet-stream;base64,!!!!' damage base64 && bad 2 "damaged base64" '.' base64.gltf
buffer=missing.bin damage buffer && bad 2 "missing buffer file" 'missing.bin' buffer.gltf
time=$f32_nan damage time && bad 2 "NaN key time" '.' time.gltf

# NaN is rejected, or repaired and reported as a defect: the output never contains NaN.
position=$f32_nan damage position
weight=$f32_nan damage weight
for name in position weight; do
    run 0 "info: NaN $name" "$supple" info $name.gltf
    check "info: NaN $name is a named defect" grep -q 'non-finite' out
    "$supple" bake --method linear $name.gltf -o nan.obj --quiet 2>err
    status=$?
    check "bake: NaN $name is repaired or rejected" test $status -eq 0 -o $status -eq 2
    check "bake: no NaN in the output for NaN $name" bash -c '! cat nan_*.obj 2>/dev/null | grep -q -i nan'
    rm -f nan*.obj
done

# --- Motions, skeletons, maps ---
refuse 2 "missing motion" 'missing.bvh' "$supple" bake good.gltf -o out.glb --motion missing.bvh
refuse 2 "damaged motion" 'noise.bvh' "$supple" bake good.gltf -o out.glb --motion noise.bvh
refuse 2 "missing map" 'missing.txt' "$supple" bake good.gltf -o out.glb --motion noise.bvh --map missing.txt
printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n' >mesh.obj
refuse 2 "missing skeleton" 'missing.skel' "$supple" bake mesh.obj -o out.glb --skeleton missing.skel
refuse 2 "mesh without a skeleton" '.' "$supple" bake mesh.obj -o out.glb
nothing_new "motions, skeletons, maps"

# --- Outputs ---
refuse 3 "folder that is not there" 'nowhere' "$supple" bake good.gltf -o nowhere/out.glb
mkdir taken.glb
refuse 3 "output is a folder" 'folder|directory' "$supple" bake good.gltf -o taken.glb
refuse 1 "output is the input" 'output file is also an input' "$supple" bake good.gltf -o good.gltf
cp good.glb same.glb
refuse 1 "output is the input by another name" 'also an input' "$supple" bake same.glb -o ./same.glb
check "the input is untouched" cmp -s good.glb same.glb
refuse 3 "output under a file" '.' "$supple" bake good.gltf -o good.glb/out.glb
ln -s /dev/full device.glb
refuse 3 "output is a device" 'device' "$supple" bake good.gltf -o device.glb
check "the device is still one" test -c /dev/full
nothing_new "outputs"

# A failed bake leaves an existing output unchanged.
echo old >kept.glb
refuse 2 "bad input over an older output" '.' "$supple" bake noise.gltf -o kept.glb
check "older output is untouched" test "$(cat kept.glb)" = old

# A full disk: a file-size limit, and a small file system if mounting is permitted.
for ending in glb pc2 mdd obj; do
    echo old >limited.$ending
    refuse 3 "file too large for the limit, .$ending" 'limited' \
        bash -c 'ulimit -f 16; "$1" bake --method linear scene:cylinder -o "limited.$2" --quiet' _ "$supple" $ending
    check "older .$ending is untouched" test "$(cat limited.$ending)" = old
done
check "no temporary file is left" test -z "$(find . -name '*part*')"
mkdir disk
if mount -t tmpfs -o size=64k tmpfs disk 2>/dev/null; then
    for ending in glb pc2 mdd obj; do
        refuse 3 "full disk, .$ending" 'disk/out' "$supple" bake scene:cylinder -o disk/out.$ending --quiet
        check "full disk is left empty, .$ending" test -z "$(ls disk)"
    done
    umount disk
else
    skip "full disk" "this user may not mount one"
fi

# --- Templates of an anatomy ---
printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n' >tet.obj
printf '1\n0.1 0.1 0.1 hips root\n' >one.skel
template() { # STATUS NAME PATTERN options
    local status=$1 name=$2 pattern=$3
    shift 3
    refuse "$status" "template: $name" "$pattern" "$supple" anatomy template --skin tet.obj -o out.template --quiet "$@"
    nothing_new "template: $name"
}
template 1 "no bones" 'bones'
template 2 "no skeleton" 'skeleton' --bones tet.obj
template 2 "bones without triangles" 'triangles' --bones one.skel --skeleton one.skel
template 2 "bones on the skin" 'outside the skin' --bones tet.obj --skeleton one.skel
template 2 "no table of bones" 'JSON' --bones tet.obj --skeleton one.skel --attach one.skel
template 2 "invalid surface file" 'not a Supple anatomy file' --bones tet.obj --surface tet.obj

# --- Ctrl-C ---
echo old >stopped.glb
"$supple" bake --method linear scene:cylinder -o stopped.glb --fps 10000 --threads 1 >progress 2>err &
child=$!
for _ in $(seq 200); do
    grep -q '%' progress && break
    sleep 0.02
done
kill -INT $child
wait $child
status=$?
check "Ctrl-C ends with 3, not $status" test $status -eq 3
check "Ctrl-C says so" grep -q 'supple: stopped.glb: Cancelled' err
check "Ctrl-C leaves the older output" test "$(cat stopped.glb)" = old
check "Ctrl-C leaves no temporary file" test -z "$(find . -name '*part*')"
finish
