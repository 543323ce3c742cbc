#!/usr/bin/env bash
# Renders the images of README.md and docs/ to docs/pictures/: scripts/pictures.sh [SUBSTRING OF A NAME]
# Uses only built-in characters: the images are reproducible.
set -euo pipefail
cd "$(dirname "$0")/.."
supple=build/supple
out=docs/pictures
wanted=${1:-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$out"

# render NAME INPUT OPTIONS..., compare NAME INPUT OPTIONS...: one image.
render() { [[ $1 != *"$wanted"* ]] || "$supple" render "${@:2}" -o "$out/$1" --quiet; }
compare() { [[ $1 != *"$wanted"* ]] || "$supple" compare "${@:2}" -o "$out/$1" --quiet; }
# row NAME INPUT COMMON_OPTIONS... -- OPTIONS...: images side by side, one per OPTIONS string.
row() {
    local name=$1 input=$2 common=() count=0 files=()
    [[ $name == *"$wanted"* ]] || return 0
    if ! command -v ffmpeg >/dev/null 2>&1; then
        echo "pictures: ffmpeg is missing: $out/$name is not updated." >&2
        return 0
    fi
    shift 2
    while [[ $1 != -- ]]; do
        common+=("$1")
        shift
    done
    shift
    for options in "$@"; do
        # shellcheck disable=SC2086 # split into words
        "$supple" render "$input" "${common[@]}" $options -o "$scratch/$count.png" --quiet
        files+=(-i "$scratch/$count.png")
        count=$((count + 1))
    done
    ffmpeg -loglevel error -y "${files[@]}" -filter_complex "hstack=inputs=$count" -pred mixed "$out/$name"
}

render human.png scene:human --size 300x400 --camera front
render skeleton.png scene:human --size 300x400 --color weights --skeleton
render squat_contact.png scene:human --method linear --size 300x400 --clip squat --frame 36 --color contact
render squat_stretch.png scene:human --method linear --size 300x400 --clip squat --frame 36 --color stretch
render bar.png scene:arm --size 420x420 --clip twist --frame 6 --camera 80,10 --zoom lower_arm \
    --collider capsule:-0.2,0.3,0.065:0.2,0.3,0.065:0.03
render elephant.png scene:elephant --size 400x400 --clip trunk_curl --frame 60
render fist.png scene:hand --size 400x400 --clip fist --frame 40
compare elbow.png scene:arm --methods linear,dualquat,cor --size 340x340 --clip bend --camera side
compare twist.png scene:cylinder --methods linear,dualquat,cor --size 340x340 --clip twist --camera front
compare stbs_twist.png scene:cylinder --methods linear,cor,stbs --size 300x340 --clip twist --camera front --wire
compare ddm_rigid.png scene:arm --weights rigid --methods linear,ddm:radius=0.04,cor --size 340x340 --clip bend --frame 24 \
    --camera side

# The figures of [komaritzan2018], then of [komaritzan2022].
both="linear,dualquat,projective"
compare projective_squat.png scene:human --methods $both --clip squat --frame 36 --size 240x260
compare projective_fine.png scene:cylinder@4 --methods $both --clip bend --frame 36 --size 240x220
compare projective_coarse.png scene:cylinder@0.1 --methods $both --clip bend --frame 36 --size 240x220
compare projective_extreme.png scene:human --methods linear,dualquat,position,projective --clip squat --frame 36 \
    --zoom left_lower_leg --camera 50,5 --size 200x200
compare projective_half.png scene:arm --methods projective:sliding=whole,projective:sliding=off --clip bend \
    --frame 45 --camera side --zoom lower_arm --color stretch --size 320x320
compare projective_sliding.png scene:arm --methods projective:sliding=off,projective --clip bend --frame 45 \
    --camera side --zoom lower_arm --color stretch --size 320x320
compare projective_contact.png scene:human --methods projective:contact=off,projective --clip squat --frame 36 \
    --camera side --zoom left_lower_leg --color contact --size 300x300
compare projective_twist.png scene:cylinder --methods $both --clip twist --camera front --size 240x260 --wire
if [[ projective_stretch.png == *"$wanted"* ]]; then
    # Four joints along the cylinder: the third rotates by 150 degrees, the fourth moves up by 0.2.
    joint="OFFSET 0 %s 0 CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation"
    # shellcheck disable=SC2059 # the format string contains those of the joints
    printf \
        "HIERARCHY ROOT a { $joint JOINT b { $joint JOINT c { $joint JOINT d { $joint End Site { OFFSET 0 %s 0 } } } } }\n" \
        0.02 0.32 0.32 0.26 0.06 >"$scratch/stretch.bvh"
    printf 'MOTION Frames: 3 Frame Time: 0.5\n' >>"$scratch/stretch.bvh"
    for pose in "0 0.26" "150 0.46" "150 0.46"; do
        echo "0 0.02 0 0 0 0 0 0.32 0 0 0 0 0 0.32 0 0 0 ${pose% *} 0 ${pose#* } 0 0 0 0" >>"$scratch/stretch.bvh"
    done
    "$supple" bake scene:cylinder@2 -o "$scratch/cylinder.obj" --method linear --frames 0:0 --quiet
    compare projective_stretch.png "$scratch/cylinder_0000.obj" --skeleton "$scratch/stretch.bvh" --methods $both \
        --frame 29 --camera front --size 220x300 --wire
fi
if [[ projective_radius.png == *"$wanted"* ]]; then
    # One joint near the surface (small sphere) and one in the center (large sphere).
    "$supple" bake scene:cylinder@4 -o "$scratch/tube.obj" --method linear --frames 0:0 --quiet
    for x in 0.065 0; do
        printf \
            'HIERARCHY ROOT a { OFFSET 0 0.05 0 CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation ' >"$scratch/joint_$x.bvh"
        printf \
            'JOINT b { OFFSET %s 0.45 0 CHANNELS 3 Zrotation Xrotation Yrotation End Site { OFFSET -%s 0.45 0 } } }\n' $x $x >>"$scratch/joint_$x.bvh"
        printf 'MOTION Frames: 3 Frame Time: 0.5\n' >>"$scratch/joint_$x.bvh"
        for angle in 0 90 90; do echo "0 0.05 0 0 0 0 $angle 0 0" >>"$scratch/joint_$x.bvh"; done
    done
    row projective_radius.png "$scratch/tube_0000.obj" --frame 29 --camera front --size 280x280 -- \
        "--skeleton-file $scratch/joint_0.065.bvh" "--skeleton-file $scratch/joint_0.bvh"
fi
trunk=""
for i in 2 3 4 5 6 7 8; do trunk+=" --paint free=joint:trunk_$i"; done
row projective_trunk.png scene:elephant --clip trunk_curl --camera 60,8 --size 240x240 -- "--frame 0" "--frame 60" \
    "--frame 60 --paint free=joint:trunk_3 --paint free=joint:trunk_4 --paint free=joint:trunk_5 --paint free=joint:trunk_6"
row projective_shake.png scene:elephant --clip shake --camera front --size 180x220 -- "--frame 0 $trunk" \
    "--frame 18 $trunk" \
    "--frame 24 $trunk" "--frame 30 $trunk" "--frame 36 $trunk"
row projective_collider.png scene:human --clip walk --camera 60,5 --size 260x340 -- "--frame 1" \
    "--frame 1 --collider sphere:0,1.06,0.17:0.12"

compare_position() { compare "$@" --methods linear,dualquat,position --size 190x210; }
compare_position position_arm.png scene:arm --clip bend --frame 45 --camera 90,20 --zoom lower_arm
compare_position position_leg.png scene:human --clip squat --frame 36 --camera 70,5 --zoom left_lower_leg
compare_position position_human.png scene:human --clip squat --frame 36 --camera 50,8
compare_position position_elephant.png scene:elephant --clip walk --frame 12 --camera 50,8

# The figures of [vaillant2014iso].
# Anatomy: layers, and two animations compared with projective.
render anatomy_layers.png scene:human --layers --method linear --camera 25,6 --size 720x480
row anatomy_twist.png scene:human --clip twist --frame 24 --color stretch --camera front --size 240x330 -- \
    "--method projective" "--method anatomy"
row anatomy_jump.png scene:human --clip jump --frame 30 --color stretch --camera 60,5 --size 240x330 -- \
    "--method projective" "--method anatomy"

track="dualquat,implicit:tracking=off,implicit"
compare implicit_bend.png scene:cylinder --methods $track --clip bend --frame 36 --camera front --wire --size 240x240
row implicit_knee.png scene:human --clip squat --frame 36 --zoom left_lower_leg --camera 50,5 --size 240x240 -- \
    "--method dualquat" "--method implicit -s tracking=off" "--method implicit"
row implicit_squat.png scene:human --clip squat --frame 30 --size 240x260 -- "--method dualquat" \
    "--method implicit -s tracking=off" "--method implicit"
compare implicit_fist.png scene:hand --methods $track --clip fist --frame 40 --size 240x260
row implicit_weights.png scene:cylinder --method implicit --clip bend --frame 36 --camera front --wire --size 240x240 \
    -- "--weights rigid" \
    "--weights nearest" "--weights heat"
row implicit_rotations.png scene:cylinder --method implicit --frame 36 --camera front --color stretch \
    --wire --size 180x240 -- \
    "--clip twist -s rotations=shape" "--clip twist" "--clip bend -s rotations=shape" "--clip bend"
row implicit_no_relax.png scene:human --method implicit --clip squat --frame 30 --zoom left_lower_leg --camera 60,5 \
    --color stretch \
    --size 260x260 -- "" "--paint no_relax=sphere:left_lower_leg:0.15"
row implicit_fold.png scene:arm --clip bend --frame 45 --zoom lower_arm --camera 90,10 --wire --size 240x240 -- \
    "--method dualquat" "--method implicit -s tracking=off" "--method implicit"
printf 'muscle biceps bone upper_arm along 55%% offset 0 0 6%% radii 38%% 13%% swell lower_arm 0:1 150:1.7\n' \
    >"$scratch/biceps"
row implicit_biceps.png scene:arm --method implicit --clip bend --frame 36 --camera 90,5 --size 240x240 -- "" \
    "--setup $scratch/biceps"
printf 'joint *_2 operator bulge\njoint *_3 operator bulge\n' >"$scratch/bulge"
row implicit_bulge.png scene:hand --method implicit --clip fist --frame 16 --zoom middle_2 --camera 40,10 \
    --size 240x240 -- "" \
    "--setup $scratch/bulge"
# slices NAME: iso-lines of the field of a bend, and of the operators.
slices() {
    [[ $1 == *"$wanted"* ]] && command -v ffmpeg >/dev/null 2>&1 || return 0
    local n=0 options inputs=()
    for options in "scene:arm --joint lower_arm --reach 0.16 --clip bend --frame 0" \
        "scene:arm --joint lower_arm --reach 0.16 --clip bend --frame 24" \
        "scene:arm --joint lower_arm --reach 0.16 --clip bend --frame 45" "--operator contact --depth 0" \
        "--operator contact --depth 0.5" "--operator contact --depth 1" "--operator bulge --depth 0.5" \
        "--operator bulge --depth 1"; do
        # shellcheck disable=SC2086 # split into words
        "$supple" slice $options --size 190 --quiet -o "$scratch/slice$n.png"
        inputs+=(-i "$scratch/slice$n.png")
        n=$((n + 1))
    done
    ffmpeg -loglevel error -y "${inputs[@]}" -filter_complex "hstack=inputs=$n" -pred mixed "$out/$1"
}
slices implicit_slices.png

if [[ walk.gif == *"$wanted"* ]] && ! command -v ffmpeg >/dev/null 2>&1; then
    echo "pictures: ffmpeg is missing: $out/walk.gif is not updated." >&2
else
    render walk.gif scene:human --size 200x260 --clip walk --fps 20 --camera 50,8
fi
ls -l "$out"
