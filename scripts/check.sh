#!/usr/bin/env bash
# What takes longer than scripts/test.sh, before a merge: the tests under sanitizers, clang-tidy, the ABI against the
# last release, a short fuzz run, the reduced set of the gauntlet. Builds what it needs itself.
set -uo pipefail
# shellcheck source=scripts/stages.sh
. "$(dirname "$0")/stages.sh"
sanitize="-O2 -g1" # -O1 compiles a little faster and runs three times slower

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
tidy=
begin_tidy() {
    scripts/build.sh build-asan "${address_options[@]}" -- build.ninja >"$logs/tidy_beside" 2>&1 || return
    nice -n 19 scripts/tidy.sh build-asan >"$logs/tidy_beside" 2>&1 &
    tidy=$!
    trap 'pkill -P "$tidy" 2>/dev/null' EXIT
}
end_tidy() {
    local status=1
    if [ -n "$tidy" ]; then
        wait "$tidy"
        status=$?
    fi
    cat "$logs/tidy_beside"
    return $status
}

# The methods against linear blending on about 30 cases (docs/quality.md), in the normal build.
gauntlet() {
    scripts/build.sh build -DCMAKE_BUILD_TYPE=Release -- check_gauntlet && build/check_gauntlet --quick --jobs "$(nproc)"
}

begin_stages build-logs/check
begin_tidy
stage "tests with address and undefined-behaviour sanitizers" address
stage "threaded tests with the thread sanitizer" thread
stage "gauntlet, reduced set" gauntlet
stage "ABI against the last release" scripts/check_abi.sh
stage "clang-tidy" end_tidy
stage "fuzzing" scripts/fuzz.sh build-asan 2
finish_stages
