#!/usr/bin/env bash
# test_gauntlet.sh CHECK_GAUNTLET - output order, list of known failures and page of check_gauntlet, on small scenes.
. "$(dirname "$0")/lib.sh"
gauntlet=$(realpath "$1")
cd "$work" || exit 1
# Tissue this soft in this gravity stretches more than linear blending: the row fails.
soft=(--assets "$work" --characters "scene:cylinder,scene:tbone" --motions "tumble,clip_shake" --methods position
    --settings "gravity=100,stiffness=10,volume=0,tets=300,iterations=3" --fps 15 --switches off --known known.csv)
rows() { sed -E 's/ +[0-9.]+ ms//' "$1" | grep -E '^(  ok  |known |FAILED) '; }

run 1 "failing cases" "$gauntlet" "${soft[@]}" --csv one.csv --write-known written.csv
cp out one
check "rows fail" grep -q -E '^FAILED scene:cylinder +tumble +position .* stretch ' one
check "the last line counts" grep -q -x -E '0 passed, 4 failed, [0-9]+ skipped' <(tail -n 1 one)
check "a line per row" test "$(wc -l <one.csv)" -eq 9
check "failures by bound" grep -q -E '^  stretch +[0-9]+, +[0-9]+$' one
run 1 "three processes" "$gauntlet" "${soft[@]}" --jobs 3 --csv three.csv
check "processes change no row" cmp -s <(rows one) <(rows out)
check "and no number" cmp -s <(cut -d, -f1-20,22- one.csv) <(cut -d, -f1-20,22- three.csv)

cp written.csv known.csv
echo 'scene:tbone,tumble,position,no such bound,a reason, with a comma' >>known.csv
echo 'scene:hand,tumble,position,stretch,not run' >>known.csv
run 0 "known failures do not fail" "$gauntlet" "${soft[@]}" --write-known again.csv
check "they are marked" test "$(grep -c '^known  scene:' out)" -eq 4
check "an entry that passes is named" grep -q 'now passes.*scene:tbone,tumble,position,no such bound' out
check "an entry that was not run is not" test "$(grep -c 'now passes' out)" -eq 1
check "the list keeps what was not run" cmp -s again.csv <(grep -v 'no such bound' known.csv)
run 1 "a new failure fails" "$gauntlet" "${soft[@]}" --known written.csv --motions tumble,clip_shake,snap
echo 'no list' >known.csv
echo 'a,b,c' >>known.csv
run 1 "line with too few fields" "$gauntlet" "${soft[@]}"
check "it is named" grep -q 'known.csv:2' err
rm known.csv

run 1 "jitter" "$gauntlet" "${soft[@]}" --characters scene:cylinder --motions tumble --jitter 2 --html page.html
check "one row for all trials" test "$(grep -c '^FAILED scene:' out)" -eq 1
check "trials are counted" grep -q '3 of 3 trials fail' out
check "the page has the case" grep -q 'scene:cylinder, tumble, position' page.html
if grep -q 'no pictures' err; then
    skip "picture" "no renderer"
else
    check "and its picture" grep -q 'src="data:image/png;base64,' page.html
fi
run 1 "unknown option" "$gauntlet" --wrong 1
run 1 "missing value" "$gauntlet" --csv
run 0 "nothing to run" "$gauntlet" --assets "$work" --characters nobody
finish
