#!/usr/bin/env bash
# Every test: the normal build, the sanitizer builds, the static checks, a short fuzz run. Goes through all stages even
# when one fails, adds up what the test programs count, and fails when anything did.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
passed=0 failed=0 skipped=0
failed_stages=()
logs=build/test_logs
mkdir -p "$logs"
sanitize="-O2 -g1" # -O1 compiles a little faster and runs three times slower

# Adds up the lines "N passed, N failed, N skipped" of a log; ctest's have a prefix.
add_up() { # log status
    local counts
    counts=$(awk '/(^|[ :])[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ {
            sub(/.*: /, ""); p += $1; f += $3; s += $5 } END { print p + 0, f + 0, s + 0 }' "$1")
    read -r p f s <<<"$counts"
    # A program that crashed or a build that broke counts as one failure.
    if [ "$2" -ne 0 ] && [ "$f" -eq 0 ]; then f=1; fi
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    printf '    %d passed, %d failed, %d skipped in %d s\n' "$p" "$f" "$s" "$((SECONDS - began))"
}

stage() { # title, command...
    local title=$1 status log
    shift
    log=$logs/$(echo "$title" | tr -c 'a-z0-9\n' '_').log
    began=$SECONDS
    echo "== $title"
    "$@" >"$log" 2>&1
    status=$?
    if [ $status -ne 0 ]; then
        failed_stages+=("$title")
        tail -n 200 "$log"
    fi
    add_up "$log" $status
    return $status
}

# ctest prints the output of failed tests; the log of all of them is what is added up.
run_ctest() { # build folder, ctest options
    local folder=$1 status
    shift
    # One more than cores: some tests wait, for a browser or for each other's processes.
    ctest --test-dir "$folder" -j "$(($(nproc) + 1))" --output-on-failure "$@" | grep -v ' passed, [0-9]* failed, [0-9]* skipped$'
    status=${PIPESTATUS[0]}
    grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$folder/Testing/Temporary/LastTest.log"
    grep -h -E '^skipped ' "$folder/Testing/Temporary/LastTest.log" >>"$logs/skipped"
    return "$status"
}

normal() {
    scripts/build.sh build -DCMAKE_BUILD_TYPE=Release && run_ctest build
}
address_options=(-DCMAKE_BUILD_TYPE=RelWithDebInfo "-DCMAKE_C_FLAGS_RELWITHDEBINFO=$sanitize"
    -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ "-DSUPPLE_SANITIZE=address,undefined" -DSUPPLE_FUZZ=ON
    -DSUPPLE_SHARED=OFF -DSUPPLE_BENCH=OFF)
address() {
    scripts/build.sh build-asan "${address_options[@]}" && run_ctest build-asan
}
thread() {
    scripts/build.sh build-tsan -DCMAKE_BUILD_TYPE=RelWithDebInfo "-DCMAKE_C_FLAGS_RELWITHDEBINFO=$sanitize" \
        -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DSUPPLE_SANITIZE=thread -DSUPPLE_SHARED=OFF \
        -DSUPPLE_BENCH=OFF -DSUPPLE_SAMPLES=OFF -DSUPPLE_ASSIMP=OFF -- threaded_tests && run_ctest build-tsan -L threads
}
# clang-tidy reads the commands of a build, not what it built: it takes the time that tests and links leave idle.
begin_tidy() {
    scripts/build.sh build-asan "${address_options[@]}" -- build.ninja >"$logs/tidy_beside" 2>&1 || return
    nice -n 19 scripts/tidy.sh build-asan >"$logs/tidy_beside" 2>&1 &
    tidy=$!
    trap 'pkill -P "$tidy" 2>/dev/null' EXIT
}
end_tidy() {
    wait "$tidy"
    local status=$?
    cat "$logs/tidy_beside"
    return $status
}
shell_check() {
    local scripts=(scripts/*.sh .ci/run tests/*/*.sh) bad=0
    shellcheck "${scripts[@]}" || bad=1
    echo "$((bad ? 0 : ${#scripts[@]})) passed, $bad failed, 0 skipped"
    return $bad
}

: >"$logs/skipped"
stage "format" scripts/check_format.sh
stage "layers" scripts/check_layers.sh
stage "sizes of files and functions" scripts/check_size.sh
stage "documents" scripts/check_docs.sh
stage "shell scripts" shell_check
tidy=
begin_tidy
stage "tests" normal
stage "tests with address and undefined-behaviour sanitizers" address
stage "threaded tests with the thread sanitizer" thread
stage "clang-tidy" end_tidy
stage "fuzzing" scripts/fuzz.sh build-asan 2

if [ -s "$logs/skipped" ]; then
    echo "== skipped"
    sed -E 's/^skipped [a-zA-Z0-9_]+: /    /' "$logs/skipped" | sort | uniq -c | sort -rn | head -n 20
fi
echo
[ ${#failed_stages[@]} -eq 0 ] || printf 'failed: %s\n' "${failed_stages[@]}"
echo "$passed passed, $failed failed, $skipped skipped in $((SECONDS / 60)) min $((SECONDS % 60)) s"
[ "$failed" -eq 0 ] && [ ${#failed_stages[@]} -eq 0 ]
