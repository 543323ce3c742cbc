#!/usr/bin/env bash
# test_samples.sh BUILD - the samples run, and the README contains the source of samples/bake.c.
. "$(dirname "$0")/lib.sh"
build=$1

run 0 "engine" "$build/sample_engine"
check "engine moves the skin" grep -q -E 'frame 60: the farthest of [0-9]+ vertices moved 0\.[0-9]*[1-9]' "$work/out"
check "engine starts at rest" grep -q -E 'frame  0: .* moved 0.000 m' "$work/out"
run 0 "own method" "$build/sample_own_method"
check "air 0.00 does not move the skin" grep -q '^air 0.00: mean displacement of the skin 0.000 ' "$work/out"
check "air 0.05 moves it by that" grep -q '^air 0.05: mean displacement of the skin 0.050 ' "$work/out"
check "air 0.10 moves it by that" grep -q '^air 0.10: mean displacement of the skin 0.100 ' "$work/out"

run 0 "push" "$build/sample_push"
check "push: no displacement in the first frame" grep -q '^frame  0: .* displaced by 0.000 m' "$work/out"
check "push: the skin is displaced" grep -q -E '^frame 45: .* displaced by 0\.0[1-9]' "$work/out"
check "push: the skin returns" grep -q -E '^frame 90: .* displaced by 0\.00' "$work/out"

run 0 "crowd" "$build/sample_crowd" "$work/crowd.obj" 3 0.1
if [ -e "$work/crowd.obj" ]; then
    check "crowd: three skins" test "$(grep -c '^o human_' "$work/crowd.obj")" = 3
else
    check "crowd: the reason without a GPU" grep -q -i -E 'gpu|cuda' "$work/out"
fi
run 1 "crowd of 0 instances" "$build/sample_crowd" "$work/crowd.obj" 0

triangle_gltf >"$work/in.gltf"
run 0 "bake" "$build/sample_bake" "$work/in.gltf" "$work/baked.glb"
check "bake wrote a file" test -s "$work/baked.glb"
run 1 "bake without arguments" "$build/sample_bake"
run 1 "bake a missing file" "$build/sample_bake" "$work/missing.glb" "$work/x.glb"
check "bake says why" test -s "$work/err"

# The README's program is samples/bake.c from its first #include.
sed -n '/^```c$/,/^```$/p' "$source_dir/README.md" | sed '1d;/^```$/,$d' >"$work/readme.c"
sed -n '/^#include/,$p' "$source_dir/samples/bake.c" >"$work/sample.c"
check "README shows samples/bake.c" cmp "$work/readme.c" "$work/sample.c"
finish
