#!/usr/bin/env bash
# test_app.sh SUPPLE - command line tests: help, usage errors, outputs, determinism, assets.
. "$(dirname "$0")/lib.sh"
supple=$(realpath "$1")
cd "$work" || exit 1

# --- Help ---
run 0 "help" "$supple" --help
for verb in info bake bind render compare slice measure report bench rig anatomy studio methods scenes; do
    check "help names $verb" grep -q "  $verb" out
done
run 0 "version" "$supple" --version
check "version is the header's" grep \
    -qx "supple $(sed -n 's/^#define SUPPLE_VERSION_[A-Z]* //p' "$source_dir/include/supple/base.h" | paste -sd.)" out
refuse 1 "no verb" 'verb' "$supple"
refuse 1 "misspelled verb suggests bake" "did you mean 'bake'" "$supple" bkae
refuse 1 "unknown verb lists all verbs" 'info, bake' "$supple" zzzzzzzz
refuse 1 "option before a verb" 'unknown option' "$supple" --jsn
for verb in info bake bind render compare slice measure report bench rig anatomy studio methods scenes; do
    if "$supple" $verb --help 2>&1 | grep -q 'no renderer'; then
        skip "$verb --help" "this build has no Embree or libpng"
        continue
    fi
    run 0 "$verb --help" "$supple" $verb --help
    check "$verb --help has a usage line" grep -q "^Usage: supple $verb" out
    # The man page and the shell completion contain every option.
    while read -r option; do
        check "man page has $verb $option" grep -q -e "${option//-/\\\\-}" "$source_dir/docs/supple.1"
        check "completion has $verb $option" grep -q -e "$option" "$source_dir/apps/supple/supple.bash"
    done < <(grep -o -E -e '--[a-z][a-z-]+' out | sort -u)
    run 0 "help $verb" "$supple" help $verb
done

# --- Wrong usage ---
refuse 1 "no input" 'INPUT is missing' "$supple" bake -o x.glb
refuse 1 "no output" '-o OUTPUT is missing' "$supple" bake scene:cylinder
refuse 1 "two inputs" 'unexpected argument' "$supple" bake scene:cylinder scene:human -o x.glb
refuse 1 "misspelled option" 'did you mean --method' "$supple" bake scene:cylinder -o x.glb --methd linear
refuse 1 "unknown option" 'unknown option' "$supple" info scene:cylinder --zzzzzz
refuse 1 "no value" 'needs a value' "$supple" bake scene:cylinder -o
refuse 1 "flag with a value" 'takes no value' "$supple" bake scene:cylinder -o x.glb --quiet=yes
refuse 1 "misspelled method" 'did you mean linear' "$supple" bake scene:cylinder -o x.glb --method liner
refuse 1 "unknown method" 'available: ' "$supple" bake scene:cylinder -o x.glb --method zzzzzzzzz
refuse 1 "misspelled scene" 'did you mean scene:human' "$supple" info scene:humn
refuse 1 "unknown scene" 'available: ' "$supple" info scene:zzzzzzzz
refuse 1 "scene resolution" 'resolution' "$supple" info scene:human@zero
refuse 1 "scene resolution too high" 'resolution' "$supple" info scene:human@21
refuse 1 "skeleton for a scene" 'skeleton' "$supple" info scene:human --skeleton x.skel
refuse 1 "unknown clip" 'available: 0 ' "$supple" bake scene:cylinder -o x.glb --clip zzzzzzzz
refuse 1 "clip index" 'available: 0 ' "$supple" bake scene:cylinder -o x.glb --clip 99
refuse 1 "fps zero" 'from 0.001' "$supple" bake scene:cylinder -o x.glb --fps 0
refuse 1 "fps text" 'number' "$supple" bake scene:cylinder -o x.glb --fps fast
refuse 1 "fps nan" 'number' "$supple" bake scene:cylinder -o x.glb --fps nan
refuse 1 "threads" 'an integer' "$supple" bake scene:cylinder -o x.glb --threads -1
refuse 1 "descending frame range" 'such as 0:59' "$supple" bake scene:cylinder -o x.glb --frames 5:2
refuse 1 "non-numeric frame range" 'such as 0:59' "$supple" bake scene:cylinder -o x.glb --frames a:b
refuse 1 "frames past the end" 'has [0-9]* frames' "$supple" bake scene:cylinder -o x.glb --frames 0:100000
refuse 1 "unknown output extension" 'glb, .pc2' "$supple" bake scene:cylinder -o x.xyz
refuse 1 "output without extension" 'glb, .pc2' "$supple" bake scene:cylinder -o x
refuse 1 "weights" 'did you mean heat' "$supple" bake scene:cylinder -o x.glb --weights heta
refuse 1 "set without a value" 'such as --set' "$supple" bake scene:cylinder -o x.glb --set stiffness
refuse 1 "set unknown" 'parameter' "$supple" bake scene:cylinder -o x.glb --set zzz=1
refuse 1 "--map without --motion" 'motion' "$supple" bake scene:cylinder -o x.glb --map joints.txt
refuse 1 "clip and motion" 'not both' "$supple" bake scene:cylinder -o x.glb --clip 0 --motion x.bvh
check "wrong usage writes nothing" test -z "$(find . -name 'x*')"

# --- Lists ---
run 0 "methods" "$supple" methods
check "methods lists linear" grep -qx linear out
check "methods lists dualquat" grep -qx dualquat out
run 0 "scenes" "$supple" scenes
for scene in cylinder tbone arm hand human; do
    check "scenes lists $scene" grep -q "scene:$scene " out
done

# --- Bake ---
run 0 "bake glb" "$supple" bake --method linear scene:cylinder -o a.glb --json
frames=$(json_number frames) vertices=$(json_number vertices)
check "glb is there" test -s a.glb
check "glb begins with glTF" test "$(head -c 4 a.glb)" = glTF
check "bytes are the file's" test "$(json_number bytes)" = "$(stat -c %s a.glb)"
check "several frames" test "$frames" -gt 10
run 0 "bake pc2" "$supple" bake --method linear scene:cylinder -o a.pc2
check "result line" grep -q -E "^a.pc2: $frames frames, [0-9,]+ vertices, [0-9.e-]+ ms per frame" out
check "plain lines when piped" grep -q -E '^ *[0-9]+%' out
check "pc2 has every frame" test "$(stat -c %s a.pc2)" = $((32 + vertices * 12 * frames))
run 0 "bake mdd" "$supple" bake --method linear scene:cylinder -o a.mdd --quiet
check "--quiet prints nothing" test ! -s out -a ! -s err
check "mdd has every frame" test "$(stat -c %s a.mdd)" = $((8 + 4 * frames + vertices * 12 * frames))
run 0 "bake obj" "$supple" bake --method linear scene:cylinder -o "sub folder.obj" --frames 0:2 --quiet
check "obj sequence" test "$(find . -name 'sub folder*.obj' | wc -l)" -eq 3
run 0 "frames A:B" "$supple" bake --method linear scene:cylinder -o b.pc2 --frames 3:6 --quiet
check "four frames" test "$(stat -c %s b.pc2)" = $((32 + vertices * 12 * 4))
check "frames 3 to 6 are those of the whole" cmp -s -i $((32 + vertices * 12 * 3)):32 -n $((vertices * 12 * 4)) a.pc2 \
    b.pc2
run 0 "first frame alone" "$supple" bake --method linear scene:cylinder -o b.pc2 --frames 0:0 --quiet
check "one frame" test "$(stat -c %s b.pc2)" = $((32 + vertices * 12))
run 0 "open range" "$supple" bake --method linear scene:cylinder -o b.pc2 --frames "$((frames - 2)):" --quiet
check "two frames" test "$(stat -c %s b.pc2)" = $((32 + vertices * 12 * 2))
run 0 "fps" "$supple" bake --method linear scene:cylinder -o b.pc2 --fps 60 --json
check "twice the frames" test "$(json_number frames)" = $((2 * frames - 1))
run 0 "one thread" "$supple" bake --method linear scene:human@0.25 -o t1.glb --threads 1 --frames 0:3 --quiet
run 0 "three threads" "$supple" bake --method linear scene:human@0.25 -o t3.glb --threads 3 --frames 0:3 --quiet
check "same bits for any number of threads" cmp -s t1.glb t3.glb
run 0 "dual quaternions" "$supple" bake scene:cylinder -o dq.pc2 -m dualquat --quiet
check "methods differ" bash -c '! cmp -s a.pc2 dq.pc2'
run 0 "clip by index" "$supple" bake --method linear scene:cylinder -o c0.pc2 --clip 0 --quiet
check "the first clip is the default" cmp -s a.pc2 c0.pc2
run 0 "clips in JSON" "$supple" info scene:cylinder --json
clip=$(sed -n '/"clips"/,/\]/s/^ *"name": "\(.*\)",$/\1/p' out | sed -n 2p)
run 0 "clip by name" "$supple" bake --method linear scene:cylinder -o c1.pc2 --clip "$clip" --quiet
run 0 "clip 1" "$supple" bake --method linear scene:cylinder -o c2.pc2 --clip 1 --quiet
check "clip 1 is '$clip'" cmp -s c1.pc2 c2.pc2
for how in auto file nearest heat rigid; do
    run 0 "weights $how" "$supple" bake --method linear scene:arm@0.5 -o w.pc2 --weights $how --frames 0:1 --quiet
done
run 0 "older output is replaced" "$supple" bake --method linear scene:cylinder -o a.glb --frames 0:1 --quiet
check "no temporary files are left" test -z "$(find . -name '*part*')"
run 0 "path with two dashes" "$supple" bake --method linear -o ./--x.glb --quiet -- scene:cylinder
if command -v script >/dev/null && script -qec true /dev/null >/dev/null 2>&1; then
    TERM=xterm script -qec "'$supple' bake --method linear scene:cylinder -o live.glb" /dev/null >out 2>err </dev/null
    check "live bar on a terminal" grep -q '\[#*-*\] *[0-9]*%' out
    check "no plain lines on a terminal" bash -c "! grep -q -E '^ *[0-9]+%  ' out"
else
    skip "live bar" "no usable script command"
fi

# --- Motion capture: a T-pose in frame 0, a thumb that flips in frames 10 and 11 ---
joint() { printf '%s %s\n{\nOFFSET 0 %s 0\nCHANNELS 3 Zrotation Xrotation Yrotation\n' "$1" "$2" "$3"; }
{
    echo HIERARCHY
    joint ROOT hips 0
    for leg in left right; do
        joint JOINT ${leg}_upper_leg -1
        joint JOINT ${leg}_lower_leg -1
        echo 'End Site { OFFSET 0 -1 0 } } }'
    done
    joint JOINT left_thumb_1 1
    echo 'End Site { OFFSET 0 1 0 } } }'
    printf 'MOTION\nFrames: 20\nFrame Time: 0.0333333\n'
    for ((i = 0; i < 20; i++)); do
        leg=$((i == 0 ? 0 : 60 + i)) thumb=$((i == 10 || i == 11 ? 170 : 0))
        echo "0 0 0 0 $leg 0 0 $leg 0 0 -$leg 0 0 $leg 0 0 $thumb 0"
    done
} >capture.bvh
run 0 "info on motion capture" "$supple" info capture.bvh
check "info names the T-pose" grep -q 'the motion begins at 0.03333 s' out
check "info names the flip" grep -q '1 rotation flip: left_thumb_1 at 0.30 s' out
run 0 "motion capture" "$supple" bake scene:human@0.25 --motion capture.bvh -o m0.pc2 --frames 0:12 --json
check "removed flips are reported" grep -q 'Removed 1 rotation flip' err
run 0 "from frame 1" "$supple" bake scene:human@0.25 --motion capture.bvh -o m1.pc2 --frames 1:12 --quiet
size=$(($(stat -c %s m1.pc2) - 32)) # without the header
check "a leading T-pose is not simulated" cmp -s <(tail -c $size m0.pc2) <(tail -c $size m1.pc2)
run 0 "raw motion" "$supple" bake scene:human@0.25 --motion capture.bvh -o m2.pc2 --frames 1:12 --quiet --raw-motion
check "--raw-motion keeps flips" bash -c '! cmp -s m1.pc2 m2.pc2'

# --- Info ---
run 0 "info" "$supple" info scene:human
for word in vertices triangles joints weights size primitives clips defects; do
    check "info prints $word" grep -q "^  $word" out
done
run 0 "info on a written file" "$supple" info a.glb
run 0 "info --joints" "$supple" info scene:human --joints
run 0 "info --json" "$supple" info scene:human --json
for key in file name vertices triangles nodes joints skins weights max_influences morph_targets unit_metres bounds \
    primitives \
    clips motion_start flips rigid_components skeleton defects offset; do
    check "JSON has $key" grep -q "\"$key\":" out
    check "man page has $key" grep -q -w "$key" "$source_dir/docs/supple.1"
done
check "the eyes are rigid components" bash -c 'sed -n "/rigid_components/,/\]/p" out | grep -q "\"count\": 2"'
check "a human has 40 joints" test "$(json_number joints)" -ge 40
if command -v node >/dev/null; then
    for verb in "info scene:human" methods scenes "bake scene:cylinder -o j.glb --frames 0:1"; do
        # shellcheck disable=SC2086 # the verb and its arguments
        run 0 "JSON of $verb" "$supple" $verb --json
        check "JSON of $verb parses" node -e 'JSON.parse(require("fs").readFileSync("out", "utf8"))'
    done
    run 0 "offsets" "$supple" info scene:human --json
    # shellcheck disable=SC2016 # the dollar signs are JavaScript's
    check "offsets follow one another" node -e '
        const info = JSON.parse(require("fs").readFileSync("out", "utf8"));
        let at = 0;
        for (const p of info.primitives) { if (p.offset !== at) process.exit(1); at += p.vertices; }
        process.exit(at === info.vertices ? 0 : 1);'
else
    skip "JSON parses" "no node"
fi

# --- Standard streams ---
run 0 "stdout closed" bash -c '"$1" info scene:cylinder >&-' _ "$supple"
run 0 "all streams closed" bash -c '"$1" bake --method linear scene:cylinder -o closed.pc2 <&- >&- 2>&-' _ "$supple"
check "no messages in the output file" cmp -s a.pc2 closed.pc2
run 0 "closed pipe" bash -c 'set -o pipefail; { sleep 0.2; "$1" info scene:human --json; } | true' _ "$supple"
refuse 3 "full stdout" 'standard output' bash -c '"$1" info scene:cylinder >/dev/full' _ "$supple"
refuse 3 "full stdout, long" 'standard output' bash -c '"$1" info scene:human --json >/dev/full' _ "$supple"

# --- Assets ---
if [ -d "$assets" ]; then
    for file in "$assets"/gltf/*.gl* "$assets"/makehuman/*.glb; do
        name=$(basename "$file")
        run 0 "info $name" "$supple" info "$file" --json
        count=$(json_number vertices)
        run 0 "bake $name" "$supple" bake --method linear "$file" -o asset.pc2 --frames 0:0 --quiet
        check "order of $name" test "$(stat -c %s asset.pc2)" = $((32 + count * 12))
    done
    for file in "$assets"/fps/*/*.ini; do
        run 0 "bake $(basename "$file")" "$supple" bake --method linear "$file" -o ini.pc2 --frames 0:1 --quiet
    done
    run 0 "mesh with a skeleton" "$supple" bake --method linear "$assets/makehuman/mh_male_average.obj" \
        --skeleton "$assets/makehuman/mh_male_average.cmu_mb.skel" -o mesh.glb --quiet
    run 0 "mesh, skeleton and .anim" "$supple" bake --method linear "$assets/fps/cylinder/cylinder.off" \
        --skeleton "$assets/fps/cylinder/cylinder.skel" --motion "$assets/fps/cylinder/cylinder0.anim" -o anim.pc2 \
            --quiet
    run 0 "motion from a BVH file" "$supple" bake --method linear "$assets/makehuman/mh_male_average.glb" \
        --motion "$(find "$assets/bvh" -name 'cmu_*.bvh' | sort | head -n 1)" -o bvh.pc2 --frames 0:9 --json
    check "ten frames" test "$(json_number frames)" = 10
    : >nothing.fbx
    if "$supple" info nothing.fbx 2>&1 | grep -q 'need Assimp'; then
        skip "FBX" "this build has no Assimp"
    else
        for file in "$assets"/fbx/*.fbx; do
            run 0 "info $(basename "$file")" "$supple" info "$file"
        done
    fi
else
    skip "assets" "no folder $assets"
fi
finish
