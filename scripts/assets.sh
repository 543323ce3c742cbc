#!/usr/bin/env bash
# Plays every clip of every asset with every method, at three scales: scripts/assets.sh [METHOD...]
# Says what is refused, what is not finite and how far edges stretch; see bench/check_assets.c.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 2
assets=${SUPPLE_ASSETS:-../shared/assets}
program=build/check_assets
if [ ! -x "$program" ] || [ ! -d "$assets" ]; then
    echo "build/check_assets and the assets folder ($assets, or \$SUPPLE_ASSETS) are needed."
    exit 2
fi
methods=()
for method in "$@"; do methods+=(-m "$method"); done
status=0
run() {
    echo "== $1"
    shift
    "$program" "${methods[@]}" "$@" || { [ $? -eq 1 ] && status=1; }
}
run "all clips" "$assets"/gltf/*.gl* "$assets"/makehuman/*.glb "$assets"/fps/*/*.ini
run "a hundredth" -s 0.01 -c 1 "$assets"/gltf/*.gl* "$assets"/makehuman/*.glb "$assets"/fps/*/*.ini
run "a hundred times" -s 100 -c 1 "$assets"/gltf/*.gl* "$assets"/makehuman/*.glb "$assets"/fps/*/*.ini
skeleton=$assets/makehuman
run "scans" -b "$assets/bvh/cmu_02_01_walk.bvh" -k "$skeleton/mh_male_average.cmu_mb.skel" "$assets"/scans/scan_male_apose*.ply \
    -k "$skeleton/mh_male_obese.game_engine.skel" "$assets"/scans/scan_male_obese*.ply \
    -k - "$assets"/scans/LeePerrySmith_head.glb
exit $status
