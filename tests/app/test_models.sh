#!/usr/bin/env bash
# test_models.sh SUPPLE - the default method, model files, colliders.
. "$(dirname "$0")/lib.sh"
supple=$(realpath "$1")
cd "$work" || exit 1
scene=scene:cylinder@0.5

# --- The default ---
run 0 "bake without a method" "$supple" bake $scene -o default.pc2 --frames 0:9 --json
check "it is projective" grep -q '"method": "projective"' out
run 0 "bake by name" "$supple" bake $scene -o named.pc2 --frames 0:9 --quiet --method projective
check "the same bits" cmp -s default.pc2 named.pc2
triangle_gltf >flat.gltf
run 0 "a character that projective cannot bind" "$supple" bake flat.gltf -o flat.glb
check "is skinned by linear" grep -q 'method linear' out
check "with a warning" grep -q -E 'warning: .*(projective.*linear|linear.*projective)' err
refuse 2 "no fallback with --method" 'flat.gltf' "$supple" bake flat.gltf -o x.glb --method projective --quiet

# --- Models ---
run 0 "bind" "$supple" bind $scene -o m.supple
check "it says what it made" grep -q '^m.supple: method projective, ' out
run 0 "bind again" "$supple" bind $scene -o m2.supple --threads 1 --json
check "the same bytes for any number of threads" cmp -s m.supple m2.supple
check "bytes are the file's" test "$(json_number bytes)" = "$(stat -c %s m2.supple)"
run 0 "bake with a model" "$supple" bake $scene -o model.pc2 --model m.supple --frames 0:9 --quiet
check "the same bits as without" cmp -s default.pc2 model.pc2
run 0 "live parameter" "$supple" bake $scene -o live.pc2 --model m.supple --set damping=0.5 --frames 0:9 --quiet
check "it changes the result" bash -c '! cmp -s model.pc2 live.pc2'
run 0 "linear model" "$supple" bind $scene -o linear.supple --method linear --quiet
run 0 "bake with a linear model" "$supple" bake $scene -o linear.pc2 --model linear.supple --frames 0:9 --json
check "the method is the model's" grep -q '"method": "linear"' out
refuse 1 "fixed parameter" 'bind again' "$supple" bake $scene -o x.pc2 --model m.supple --set vertices=200
refuse 1 "method that is not the model's" 'was bound for projective' "$supple" bake $scene -o x.pc2 --model m.supple \
    -m linear
refuse 1 "weights with a model" 'weights' "$supple" bake $scene -o x.pc2 --model m.supple --weights heat
refuse 2 "model of another character" 'another character' "$supple" bake scene:arm@0.25 -o x.pc2 --model m.supple
run 0 "bind a triangle" "$supple" bind flat.gltf -o flat.supple --method linear --quiet
joints="2, 1" triangle_gltf >twin.gltf
refuse 2 "model of another character with the same counts" 'vertices, triangles or bones differ' \
    "$supple" bake twin.gltf -o x.glb --model flat.supple
refuse 2 "model that is not there" 'gone.supple' "$supple" bake $scene -o x.pc2 --model gone.supple
refuse 2 "not a model" 'not a Supple model' "$supple" bake $scene -o x.pc2 --model default.pc2
size=$(stat -c %s m.supple)
for cut in 0 10 200 $((size / 2)) $((size - 1)); do
    head -c "$cut" m.supple >cut.supple
    refuse 2 "model of $cut bytes" 'cut.supple' "$supple" bake $scene -o x.pc2 --model cut.supple
done
for at in 9 40 300 $((size / 3)) $((size - 5)); do
    cp m.supple flip.supple
    byte=$(od -An -tu1 -j "$at" -N 1 flip.supple)
    # shellcheck disable=SC2059 # printf makes the byte
    printf "\\x$(printf %02x $((byte ^ 16)))" | dd of=flip.supple bs=1 seek="$at" conv=notrunc 2>dd.txt
    refuse 2 "model with a wrong byte at $at" 'flip.supple' "$supple" bake $scene -o x.pc2 --model flip.supple
done
refuse 1 "ending of a model" '.supple' "$supple" bind $scene -o x.model
refuse 3 "model to a missing folder" 'no/such' "$supple" bind $scene -o no/such/m.supple --quiet
refuse 1 "model over itself" 'also an input' "$supple" bake $scene -o m.supple --model m.supple
cp m.supple old.supple
run 3 "a full disk" bash -c 'ulimit -f 16; "$1" bind "$2" -o old.supple --quiet' _ "$supple" $scene
check "leaves the older model" cmp -s m.supple old.supple

# --- Colliders ---
run 0 "collider out of reach" "$supple" bake $scene -o far.pc2 --model m.supple --frames 0:9 \
    --quiet --collider sphere:99,0,0:1
check "changes nothing" cmp -s default.pc2 far.pc2
printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n' >tet.obj
joint=$("$supple" info $scene --joints | sed -n 's/^ *[0-9][0-9]*  *\([a-z_0-9]*\)$/\1/p' | head -n 1)
for collider in plane:0,0,0:0,1,0 plane:0,0,0:0,0,-2 sphere:0,0.5,0:0.2 capsule:-1,0.5,0:1,0.5,0:0.1 mesh:tet.obj \
    "sphere:0,0,0:0.1@$joint"; do
    run 0 "collider $collider" "$supple" bake $scene -o c.pc2 --model m.supple --frames 0:9 \
        --quiet --collider "$collider"
    check "$collider changes the result" bash -c '! cmp -s default.pc2 c.pc2'
done
for collider in sphere sphere: sphere:1,2,3 sphere:1,2,3:x sphere:1,2,3:0 sphere:1,2,3:-1 sphere:1,2,3:1,2 \
    sphere:nan,0,0:1 cube:0,0,0:1 \
    plane:0,0,0:0,0,0 plane:0,0,0 capsule:0,0,0:1,1,1 mesh: "sphere:0,0,0:1@zzzzzzzz" "$(printf '%5000s' x)"; do
    refuse 1 "collider '${collider:0:30}'" '--collider' "$supple" bake $scene -o x.pc2 --model m.supple \
        --collider "$collider"
done
refuse 2 "collider mesh that is not there" 'gone.obj' "$supple" bake $scene -o x.pc2 --model m.supple \
    --collider mesh:gone.obj
refuse 1 "collider for linear" 'does not support colliders' "$supple" bake $scene -o x.pc2 -m linear \
    --collider sphere:0,0,0:1
if ! "$supple" render --help 2>&1 | grep -q 'no renderer'; then
    run 0 "image without colliders" "$supple" render $scene -o p.png --model m.supple --size 48x48 --frame 5 --quiet
    run 0 "image with colliders" "$supple" render $scene -o q.png --model m.supple --size 48x48 --frame 5 --quiet \
        --collider sphere:0,0.5,0:0.2 --collider plane:0,0,0:0,1,0 --collider mesh:tet.obj
    check "colliders are visible" bash -c '! cmp -s p.png q.png'
fi
check "failures write nothing" test -z "$(find . -name 'x.*' -o -name '*.part*')"
finish
