#!/usr/bin/env bash
# Makes the pictures that README.md and docs/ show, into docs/pictures/: scripts/pictures.sh
# All from built-in characters: anybody can run it again, and gets the same pictures.
set -euo pipefail
cd "$(dirname "$0")/.."
supple=build/supple
out=docs/pictures
mkdir -p "$out"
render() { "$supple" render "$@" --quiet; }
compare() { "$supple" compare "$@" --methods linear,dualquat --quiet; }

render scene:human -o "$out/human.png" --size 300x400 --camera front
render scene:human -o "$out/skeleton.png" --size 300x400 --color weights --skeleton
render scene:human -o "$out/squat_contact.png" --size 300x400 --clip squat --frame 36 --color contact
render scene:human -o "$out/squat_stretch.png" --size 300x400 --clip squat --frame 36 --color stretch
render scene:arm -o "$out/bar.png" --size 420x420 --clip twist --frame 6 --camera 80,10 --zoom lower_arm \
    --collider capsule:-0.2,0.3,0.065:0.2,0.3,0.065:0.03
render scene:elephant -o "$out/elephant.png" --size 400x400 --clip trunk_curl --frame 60
render scene:hand -o "$out/fist.png" --size 400x400 --clip fist --frame 40
compare scene:arm -o "$out/elbow.png" --size 340x340 --clip bend --camera side
compare scene:arm -o "$out/wrist.png" --size 340x340 --clip twist --frame 72 --zoom hand --camera 90,5
compare scene:cylinder -o "$out/twist.png" --size 340x340 --clip twist --camera front
flesh() { "$supple" compare "$@" --methods linear,dualquat,position --size 190x210 --quiet; }
flesh scene:arm -o "$out/position_arm.png" --clip bend --frame 45 --camera 90,20 --zoom lower_arm
flesh scene:human -o "$out/position_leg.png" --clip squat --frame 36 --camera 70,5 --zoom left_lower_leg
flesh scene:human -o "$out/position_human.png" --clip squat --frame 36 --camera 50,8
flesh scene:elephant -o "$out/position_elephant.png" --clip walk --frame 12 --camera 50,8
if command -v ffmpeg >/dev/null 2>&1; then
    render scene:human -o "$out/walk.gif" --size 200x260 --clip walk --fps 20 --camera 50,8
else
    echo "pictures: ffmpeg is missing: $out/walk.gif stays as it is." >&2
fi
ls -l "$out"
