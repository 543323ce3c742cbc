#!/usr/bin/env bash
# The anatomy verbs on built-in data: template from the built-in human, fit, grow, bake.
# test_anatomy.sh PATH_TO_SUPPLE
supple=$(realpath "$1")
# shellcheck source-path=SCRIPTDIR
source "$(dirname "$0")/lib.sh"
cd "$work" || exit 1

# shellcheck disable=SC2317 # check calls it
is_about() { awk -v a="$1" -v b="$2" -v t="$3" 'BEGIN { exit !(a != "" && a >= b - t && a <= b + t) }'; }

skin=scene:human@0.1
# Every line of a table of bones has an effect or a warning.
printf '{"bone_to_joint": {"rib_cage": "chest", "tail": "chest", "pelvis": "wing"}, "muscles": {}}' >bones.json
run 0 "template" "$supple" anatomy template --skin $skin --bones scene:human.bones --muscles scene:human.muscles \
    --attach bones.json -o human.template --json
check "attach: a bone that is not there" grep -q '1 lines.*no such bone.*"tail"' err
check "attach: a joint that is not there" grep -q '1 lines.*no such joint.*"pelvis"' err
check "attach: bones without a line" grep -q 'bones have no valid line' err
check "attach: a table that is not used" grep -q '"muscles" is not used' err
for none in bone_outside_muscle muscle_outside_skin inverted_fat_prisms inverted_muscle_prisms; do
    check "template: $none" [ "$(json_number $none)" = 0 ]
done

run 0 "fit" "$supple" anatomy fit $skin --template human.template --fat 10 --muscle 22.8 -o person.glb --json
check "fit: requested muscle mass" is_about "$(json_number muscle_kg)" 22.8 0.3
check "fit: requested fat mass" is_about "$(json_number fat_kg)" 10 0.15
refuse 1 "fit: a skin that is not the template's, without a composition" 'composition' \
    "$supple" anatomy fit scene:human@0.2 --template human.template --fat 9 --muscle 18 -o other.glb --quiet
refuse 2 "fit: invalid template" 'not a Supple anatomy file' \
    "$supple" anatomy fit $skin --template person.glb -o other.glb --quiet
check "fit: failures write nothing" [ ! -e other.glb ]

run 0 "grow" "$supple" anatomy grow person.glb --fat +4kg --region belly=2,legs=1 -o heavier.glb --json
before=$(json_number fat_previous_kg)
check "grow: fat of the file" is_about "$before" 10 0.15
check "grow: 4 kg more" is_about "$(json_number fat_kg)" "$(awk -v b="$before" 'BEGIN { print b + 4 }')" 0.08
check "grow: layers in order" [ "$(json_number crossings)$(json_number inverted)" = 00 ]
refuse 2 "grow: no body" 'anatomy fit' "$supple" anatomy grow scene:human --fat 4 -o other.glb --quiet
refuse 1 "grow: fat is not a number" 'fat' "$supple" anatomy grow person.glb --fat some -o other.glb --quiet
refuse 1 "grow: unknown region" 'region' \
    "$supple" anatomy grow person.glb --fat 4 --region ears=1 -o other.glb --quiet
refuse 1 "grow: onto itself" 'person.glb' "$supple" anatomy grow person.glb --fat 4 -o person.glb --quiet

if [ -d "$assets/shapes" ] && [ -d "$assets/scans" ]; then
    run 0 "train" "$supple" anatomy train "$assets/shapes" -o people.composition --quiet
    run 0 "register" "$supple" anatomy register "$assets/scans/scan_male_apose.ply" --composition people.composition \
        -o registered.obj --json
    numbers=$(tr -d ' \n' <out | sed -n 's/.*"from_scan":\[\([^]]*\)\].*/\1/p' | tr ',' '\n' | grep -c -E '^-?[0-9.e+-]+$')
    check "register: the transform of the scan" [ "$numbers" = 12 ]
else
    skip "register" "no shared assets"
fi

run 0 "bake" "$supple" bake heavier.glb --method anatomy -o heavier.pc2 --quiet
check "bake: wrote it" [ -s heavier.pc2 ]
finish
