#!/usr/bin/env bash
# test_verbs.sh SUPPLE - command line tests of measure, render, slice, compare, report and bench.
. "$(dirname "$0")/lib.sh"
supple=$(realpath "$1")
cd "$work" || exit 1
scene=scene:cylinder@0.25
run 0 "bake" "$supple" bake --method linear $scene -o a.pc2 --quiet
has_node() { command -v node >/dev/null 2>&1; }
# A JavaScript condition on the JSON of the last run, called `j`.
json_check() { # name, condition
    if ! has_node; then
        skip "$1" "no node"
    elif node -e "const j = JSON.parse(require('fs').readFileSync('out', 'utf8')); process.exit(($2) ? 0 : 1)"; then
        pass
    else
        fail "$1" "$2"
    fi
}

# --- measure ---
run 0 "measure" "$supple" measure $scene a.pc2
check "measure prints the volume" grep -q -E '^  volume +[0-9.]+' out
run 0 "measure json" "$supple" measure $scene a.pc2 --json
for field in volume_ratio intersections penetration stretch_max stretch_min flips area_max angle_max roughness drift \
    jitter \
    nonfinite; do
    json_check "summary and frames have $field" "'$field' in j.summary && j.frames.every(f => '$field' in f)"
done
json_check "a frame each" "j.frames.length === j.frame_count && j.frames.every((f, i) => f.frame === i)"
json_check "volume near rest" "Math.abs(j.frames[0].volume_ratio - 1) < 0.05"
json_check "regions in the order of the joints" \
    "j.frames.every(f => f.bone_volume.length === j.joints.length && f.bend_volume.length === j.joints.length && f.primitive_volume.length === j.primitives.length)"
json_check "worst is worst" "j.summary.stretch_max === Math.max(...j.frames.map(f => f.stretch_max))"
json_check "the smallest volume at a joint" \
    "j.summary.joint_volume_min === Math.min(...j.frames.flatMap(f => [...f.bone_volume, ...f.bend_volume].filter(v => v !== null))) && j.joints.some(i => i.name === j.summary.joint_volume_min_joint)"
json_check "linear blending has no excess of acceleration" \
    "j.summary.acceleration_rms > 0 && j.summary.acceleration_excess === 0 && j.summary.acceleration_excess_frame === null"
cp out one.json
run 0 "measure with one thread" "$supple" measure $scene a.pc2 --json --threads 1
check "threads change no number" cmp -s <(grep -v -E '"(milliseconds|threads)"' one.json) \
    <(grep -v -E '"(milliseconds|threads)"' out)
run 0 "frame count of another fps" "$supple" measure $scene a.pc2 --json --fps 10
check "note explains the missing drift" grep -q 'No drift, jitter and excess' err
json_check "no drift then" "j.summary.drift === null && j.summary.jitter === null && j.summary.acceleration_excess === null"
run 0 "bake some frames" "$supple" bake --method linear $scene -o some.pc2 --frames 5:9 --quiet
run 0 "measure some frames" "$supple" measure $scene some.pc2 --frames 5:9 --json
json_check "numbers of the motion" "j.frames[0].frame === 5 && j.frame_count === 5"

# --- broken caches ---
size=$(stat -c %s a.pc2)
for bytes in 0 10 31 32 $((size - 1)); do
    head -c "$bytes" a.pc2 >cut.pc2
    refuse 2 "cache of $bytes bytes" 'cut.pc2' "$supple" measure $scene cut.pc2
    refuse 2 "image of a cache of $bytes bytes" 'cut.pc2' "$supple" render $scene cut.pc2 -o x.png
done
refuse 2 "cache of another character" 'vertices' "$supple" measure scene:tbone@0.25 a.pc2
refuse 2 "no cache" 'gone.pc2' "$supple" measure $scene gone.pc2
refuse 2 "not a cache" 'pc2|mdd' "$supple" measure $scene "$source_dir/README.md"
cp a.pc2 nan.pc2
printf '\x00\x00\xc0\x7f' | dd of=nan.pc2 bs=1 seek=$((32 + 4)) conv=notrunc status=none
run 2 "cache with NaN" "$supple" measure $scene nan.pc2 --json
check "one error message" grep -q -x -E 'supple: nan.pc2: Frame 0 has 1 vertices with NaN.*' err
json_check "it is counted" "j.summary.nonfinite === 1 && j.frames[0].nonfinite === 1 && j.frames[1].nonfinite === 0"
refuse 2 "image of a cache with NaN" 'NaN' "$supple" render $scene nan.pc2 -o x.png --frame 0

# --- bench ---
small=scene:cylinder@0.1
run 0 "bench" "$supple" bench $small --seconds 0 --save base.json
cp base.json out
methods=$("$supple" methods | grep -c -E '^[a-z]+$')
methods=$((methods - 1)) # "anatomy" needs a character with layers
for field in input method device threads instances contact vertices simulated elements bind_ms step_ms energy \
    ratio_to_reference; do
    json_check "results have $field" "j.results.length === $methods && j.results.every(r => '$field' in r)"
done
json_check "stages" \
    "j.results.every(r => ['load', 'rig', 'bind', 'pose', 'step'].every(s => r.stages[s].low <= r.stages[s].median && r.stages[s].median <= r.stages[s].high))"
run 0 "bench against" "$supple" bench $small --seconds 0 --json --against base.json
json_check "all rows were found" "j.results.length === $methods && j.results.every(r => r.previous_step_ms > 0)"
run 0 "bench of sizes" "$supple" bench $scene --seconds 0 --method projective --save sizes.json
check "bench prints the scaling exponent" grep -q -E 'scales as vertices\^' out
cp sizes.json out
json_check "five sizes" "j.growth.length === 1 && j.growth[0].vertices.length === 5 && isFinite(j.growth[0].exponent)"
run 0 "bench of a method" "$supple" bench $small --seconds 0 --method dualquat --threads 1 --instances 3 --json
json_check "options are applied" \
    "j.results.every(r => r.method === 'dualquat' && r.threads === 1 && r.instances === 3 && r.device === 'cpu')"
refuse 1 "contact of a method without self-collision" 'does not support self-collision' "$supple" bench $small \
    --method linear --contact on
refuse 1 "contact" 'did you mean|unknown value' "$supple" bench $small --contact maybe
refuse 2 "against nothing" 'gone.json' "$supple" bench $small --method linear --against gone.json
for text in '' '{' '[]' '{"results": [{"input": "x}' '{"results": [}' "$(printf '[%.0s' $(seq 200))"; do
    printf '%s' "$text" >bad.json
    refuse 2 "against '${text:0:20}'" 'bad.json' "$supple" bench $small --seconds 0 --method linear --against bad.json
done
refuse 3 "save to a missing folder" 'no/such' "$supple" bench $small --seconds 0 --method linear \
    --quiet --save no/such/x.json

# --- Images ---
if "$supple" render --method linear $scene -o probe.png --size 16x16 2>&1 | grep -q 'no renderer'; then
    skip "images" "this build has no Embree or libpng"
    finish
fi
png_size() { od -An -tu1 -j16 -N8 "$1" | awk \
    '{ print $1 * 16777216 + $2 * 65536 + $3 * 256 + $4 "x" $5 * 16777216 + $6 * 65536 + $7 * 256 + $8 }'; }
run 0 "render" "$supple" render --method linear $scene -o a.png --size 96x64
check "PNG of that size" test "$(png_size a.png)" = 96x64
run 0 "render again" "$supple" render --method linear $scene -o b.png --size 96x64 --threads 1
check "same bytes for any number of threads" cmp -s a.png b.png
run 0 "render a cache" "$supple" render --method linear $scene a.pc2 -o c.png --size 96x64
run 0 "render the same by its method" "$supple" render $scene -o d.png --size 96x64 --frame 0 --method linear
check "cache and method look the same" cmp -s c.png d.png
for color in stretch contact weights primitives none; do
    run 0 "color $color" "$supple" render --method linear $scene -o color.png --frame 20 --size 48x48 --color $color \
        --wire --skeleton
    [ $color = none ] || check "$color differs from the previous mode" bash -c '! cmp -s color.png last.png'
    cp color.png last.png
done
joint=$("$supple" info $scene --json | sed -n '/"skeleton"/,$s/.*"name": "\(.*\)".*/\1/p' | sed -n 2p)
run 0 "zoom" "$supple" render --method linear $scene -o zoom.png --size 48x48 --zoom "$joint"
check "zoom changes the image" bash -c '! cmp -s zoom.png a.png'
# Two joints in one place: the picture shows the cube, not one of its triangles.
printf 'v %s\n' '-1 -1 -1' '1 -1 -1' '1 1 -1' '-1 1 -1' '-1 -1 1' '1 -1 1' '1 1 1' '-1 1 1' >cube.obj
printf 'f %s\n' '1 4 3 2' '5 6 7 8' '1 2 6 5' '2 3 7 6' '3 4 8 7' '4 1 5 8' >>cube.obj
printf '2\n0 0 0 a root\n0 0 0 b a\n' >cube.skel
run 0 "zoom on a joint without length" "$supple" render cube.obj --skeleton-file cube.skel --weights rigid --method linear \
    -o cube.png --size 64x64 --zoom a
run 0 "the cube" "$supple" render cube.obj --skeleton-file cube.skel --weights rigid --method linear -o whole.png --size 64x64
check "it is not filled by one triangle" test $((2 * $(stat -c %s cube.png))) -gt "$(stat -c %s whole.png)"
# The cutaway view, and a character without layers.
run 0 "layers" "$supple" render --method linear scene:human@0.05 -o layers.png --layers --frame 0 --size 64x48
check "cutaway view is not empty" test "$(stat -c %s layers.png)" -gt 2000
refuse 1 "layers of a cylinder" 'no muscle and bone surfaces' "$supple" render $scene -o x.png --layers
refuse 1 "unknown joint" 'unknown joint' "$supple" render $scene -o x.png --zoom zzzzzzz
refuse 1 "unknown camera" 'three-quarter' "$supple" render $scene -o x.png --camera left
refuse 1 "size" '800x800' "$supple" render $scene -o x.png --size 800
refuse 1 "huge size" '8192' "$supple" render $scene -o x.png --size 9000x20
refuse 1 "color" 'did you mean stretch' "$supple" render $scene -o x.png --color strech
refuse 1 "frame past the end" 'has [0-9]+ frames' "$supple" render $scene -o x.png --frame 100000
refuse 1 "frame past the cache" 'has 5 frames' "$supple" render $scene some.pc2 -o x.png --frame 5
refuse 1 "frame range of an image" 'one frame' "$supple" render $scene -o x.png --frames 0:3
refuse 1 "bones of a cache of other frames" 'give --clip' "$supple" render $scene some.pc2 -o x.png --skeleton
printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n' >bare.obj
refuse 2 "mesh without a skeleton" 'skeleton-file' "$supple" render bare.obj -o x.png

# A setup of the method implicit, and slices of its field.
printf 'controller own 20:0 90:1\njoint up* operator bulge controller own\nmuscle m bone upper radii 30%% 20%%\n' \
    >setup.txt
printf '# fine\njoint upper operator pinch\n' >wrong.txt
run 0 "slice" "$supple" slice $scene -o slice.png --joint upper --frame 3 --size 64 --setup setup.txt
run 0 "slice without a setup" "$supple" slice $scene -o plain.png --joint upper --frame 3 --size 64
check "a muscle is in the field" test "$(cksum <slice.png)" != "$(cksum <plain.png)"
run 0 "slice of an operator" "$supple" slice --operator bulge --depth 0.5 -o operator.png --size 64
printf 'M .5 0 C .5 .2 .4 .2 .4 .4 L .9 .9' >profile.txt
run 0 "slice of a profile" "$supple" slice --operator profile.txt -o profile.png --size 64
refuse 2 "bad line of a setup" 'Line 2 of the setup.*contact, bulge' "$supple" bake $scene -o x.pc2 \
    --method implicit --setup wrong.txt
refuse 2 "missing setup" 'cannot be read' "$supple" bind $scene -o x.supple --method implicit --setup nowhere.txt
refuse 1 "setup for another method" 'linear accepts no setup.*implicit' "$supple" render $scene -o x.png \
    --method linear --setup setup.txt
refuse 1 "slice of another method" 'no field' "$supple" slice $scene -o x.png --joint x --method linear
refuse 1 "slice without a joint" 'joint is missing' "$supple" slice $scene -o x.png
refuse 1 "slice of nothing" 'INPUT and --joint' "$supple" slice -o x.png
refuse 2 "bad profile" 'Line 2, column 1.*path command' "$supple" slice --operator wrong.txt -o x.png
refuse 1 "unknown output extension" '.png, .mp4' "$supple" render $scene -o x.jpg
refuse 3 "folder that is not there" 'no/such' "$supple" render $scene -o no/such/x.png --size 16x16
check "failures leave no files" test -z "$(find . -name 'x.*' -o -name '*.part*')"

# --- Videos ---
refuse 3 "no ffmpeg" 'ffmpeg' env PATH=/nowhere "$supple" render $scene -o x.mp4
if command -v ffmpeg >/dev/null 2>&1; then
    run 0 "mp4" "$supple" render --method linear $scene -o video.mp4 --frames 0:3 --size 33x31 --quiet
    check "is an MP4" bash -c 'head -c 12 video.mp4 | grep -q ftyp'
    run 0 "gif" "$supple" render --method linear $scene -o video.gif --frame 2 --fps 2 --size 32x32
    check "is a GIF" test "$(head -c 4 video.gif)" = GIF8
    run 0 "webm" "$supple" render --method linear $scene a.pc2 -o video.webm --frames 0:3 --size 32x32 \
        --turn --zoom "$joint" || true
    refuse 3 "video to a missing folder" 'no/such' "$supple" render $scene -o no/such/x.mp4 --frames 0:1 --size 32x32 \
        --quiet
    timeout -s INT 1 "$supple" render scene:human -o stopped.mp4 --quiet 2>/dev/null
    check "Ctrl-C leaves nothing" test -z "$(find . -name 'stopped*')"
    check "no parts" test -z "$(find . -name '*.part*')"
else
    skip "videos" "no ffmpeg"
fi

# --- compare, report ---
run 0 "compare" "$supple" compare $scene -o sheet.png --methods linear,dualquat --size 60x80
check "two panels" test "$(png_size sheet.png | cut -dx -f1)" = 120
check "it picks a frame" grep -q -E '^sheet.png: frame [0-9]+, 2 methods' out
run 0 "compare at a frame" "$supple" compare $scene -o sheet.png --methods dualquat --frame 3 --size 60x80 --quiet
refuse 1 "unknown method" 'unknown method' "$supple" compare $scene -o x.png --methods linear,zzzzzz
refuse 1 "method twice" 'twice' "$supple" compare $scene -o x.png --methods linear,linear
run 0 "one method twice with other settings" "$supple" compare $scene -o sheet.png --size 60x80 \
    --methods linear,linear:rigid=on --set rigid=off
check "both methods are compared" grep -q '2 methods' out
refuse 1 "own setting unknown" 'zzzz' "$supple" compare $scene -o x.png --methods linear:zzzz=1
refuse 1 "own setting without a value" 'NAME=VALUE' "$supple" compare $scene -o x.png --methods linear:rigid
refuse 1 "frame out of range" 'frames are' "$supple" compare $scene -o x.png --frame 99999
refuse 1 "--set of an unknown parameter" 'None of the methods' "$supple" compare $scene -o x.png --set zzzz=1
refuse 1 "sheet ending" '.png' "$supple" compare $scene -o x.gif
run 0 "report" "$supple" report $scene -o report.html --frames 0:20 --size 60x80 --quiet
check "self-contained" bash -c '! grep -q -E "(src|href)=\"(http|/|[a-z]+\.)" report.html'
check "images are embedded" test "$(grep -c 'src="data:image/png;base64,' report.html)" -eq $((3 * methods))
check "plots are embedded" test "$(grep -c '<svg class="plot"' report.html)" -eq 8
check "dark and light" grep -q 'prefers-color-scheme:dark' report.html
check "machine and settings" grep -q '<td>processor</td>' report.html
refuse 1 "report ending" 'html' "$supple" report $scene -o x.pdf
refuse 3 "report to a missing folder" 'no/such' "$supple" report $scene -o no/such/x.html --frames 0:1 --size 32x32 \
    --quiet
check "wrong usage writes nothing" test -z "$(find . -name 'x.*' -o -name '*.part*')"
finish
