#!/usr/bin/env bash
# test_validator.sh SUPPLE - the Khronos glTF validator reports no error for the GLB files of bake and rig.
. "$(dirname "$0")/lib.sh"
supple=$(realpath "$1")
validator=$source_dir/tests/validator
if ! command -v node >/dev/null || [ ! -d "$validator/node_modules" ]; then
    skip "validator" "no glTF validator (npm ci in tests/validator)"
    finish
fi
mkdir "$work/glb"
triangle_gltf >"$work/triangle.gltf"
inputs=("$work/triangle.gltf")
while read -r scene; do inputs+=("scene:$scene@0.5"); done < <("$supple" scenes --names)
for file in "$assets"/gltf/*.gl* "$assets"/makehuman/*.glb; do
    if [ -e "$file" ]; then inputs+=("$file"); fi
done
[ -d "$assets" ] || skip "validator on assets" "no folder $assets"
rigs=0
for input in "${inputs[@]}"; do
    name=$(basename "$input")
    for extra in "" --no-normals; do
        # shellcheck disable=SC2086 # empty for no option
        run 0 "bake $name $extra" "$supple" bake --method linear "$input" -o "$work/glb/${name//[:@]/_}$extra.glb" \
            --fps 5 --quiet $extra
    done
    # Inputs without a skeleton cannot be rigged.
    if "$supple" rig "$input" -o "$work/glb/${name//[:@]/_}_rig.glb" --quiet 2>/dev/null; then rigs=$((rigs + 1)); fi
done
check "scenes and most assets are rigged" test "$rigs" -ge 5
# One node process for all files: its start is slower than a validation.
run 0 "validate" node "$validator/validate.mjs" "$work/glb" || head -n 5 "$work/out"
check "validated all" grep -q "^$((2 * ${#inputs[@]} + rigs)) files, 0 errors" "$work/out"
finish
