#!/usr/bin/env bash
# Bakes the built-in human to out/demo.glb, once simulated and once by linear blending, and says what the difference is.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p out
echo
echo "The built-in human, made by code:"
build/supple info scene:human | sed -n '2,7p'
echo
echo "A squat with simulated flesh, frame by frame:"
build/supple bake scene:human -o out/demo.glb --clip squat
build/supple bake scene:human -o out/demo_linear.glb --clip squat --method linear --quiet
if build/supple compare scene:human -o out/demo.png --clip squat --methods linear,projective --size 400x500 --quiet 2>/dev/null; then
    echo
    echo "out/demo.png shows linear blending and simulated flesh side by side, with their measures."
fi
cat <<'END'

out/demo.glb plays in any glTF viewer: drop it into Blender, Windows 3D Viewer, or a viewer page in the browser.
out/demo_linear.glb is the same motion by linear blending: no flesh swings in it, and knees and hips fold flat.

More to try:
  build/supple scenes                                          the other built-in characters
  build/supple methods                                         the skinning methods and their parameters
  build/supple bake scene:human -o out/shake.glb --clip shake  flesh that swings
  build/supple render scene:human -o out/sphere.png --frame 20 --collider sphere:0,1.06,0.17:0.12
  build/supple info YOUR_CHARACTER.glb                         what is in it, and what is wrong with it
  build/supple bake YOUR_CHARACTER.glb -o out/yours.glb
END
