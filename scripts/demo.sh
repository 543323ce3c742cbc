#!/usr/bin/env bash
# Bakes the built-in human and its first motion to out/demo.glb and says what happened.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p out
echo
echo "The built-in human, made by code:"
build/supple info scene:human | sed -n '2,7p'
echo
echo "Now its first motion, frame by frame:"
build/supple bake scene:human -o out/demo.glb
cat <<'END'

out/demo.glb plays in any glTF viewer: drop it into Blender, Windows 3D Viewer, or a viewer page in the browser.

More to try:
  build/supple scenes                                          the other built-in characters
  build/supple methods                                         the skinning methods and their parameters
  build/supple bake scene:human -o out/dq.glb --method dualquat
  build/supple info YOUR_CHARACTER.glb                         what is in it, and what is wrong with it
  build/supple bake YOUR_CHARACTER.glb -o out/yours.glb
END
