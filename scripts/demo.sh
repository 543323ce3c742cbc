#!/usr/bin/env bash
# Bakes the built-in human to out/demo.glb (default method) and to out/demo_linear.glb (linear blend skinning).
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p out
echo
echo "The built-in human:"
build/supple info scene:human | sed -n '2,7p'
echo
echo "A squat with simulated soft tissue:"
build/supple bake scene:human -o out/demo.glb --clip squat
build/supple bake scene:human -o out/demo_linear.glb --clip squat --method linear --quiet
if build/supple compare scene:human -o out/demo.png --clip squat --methods linear,projective --size 400x500 \
    --quiet 2>/dev/null; then
    echo
    echo "out/demo.png compares linear blend skinning with the simulation, with quality metrics."
fi
cat <<'END'

out/demo.glb plays in any glTF viewer, such as Blender, Windows 3D Viewer, or a viewer in the browser.
out/demo_linear.glb is the same animation with linear blend skinning: no secondary motion, collapsed knees and hips.

More to try:
  build/supple scenes                                          the other built-in characters
  build/supple methods                                         the skinning methods and their parameters
  build/supple bake scene:human -o out/shake.glb --clip shake  secondary motion
  build/supple render scene:human -o out/sphere.png --frame 20 --collider sphere:0,1.06,0.17:0.12
  build/supple info YOUR_CHARACTER.glb                         contents and defects of a file
  build/supple bake YOUR_CHARACTER.glb -o out/yours.glb
END
