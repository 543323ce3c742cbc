#!/usr/bin/env bash
# What a newcomer runs: the checks that read files, then the normal build and all its tests. At most 6 minutes on two
# cores from a clean clone. scripts/check.sh has the checks that take longer.
set -uo pipefail
# shellcheck source=scripts/stages.sh
. "$(dirname "$0")/stages.sh"

shell_check() {
    local scripts=(scripts/*.sh .ci/run tests/*/*.sh) bad=0
    shellcheck "${scripts[@]}" || bad=1
    echo "$((bad ? 0 : ${#scripts[@]})) passed, $bad failed, 0 skipped"
    return $bad
}
normal() {
    scripts/build.sh build -DCMAKE_BUILD_TYPE=Release && run_ctest build
}

begin_stages build-logs/test
stage "format" scripts/check_format.sh
stage "columns" scripts/check_columns.sh
stage "layers" scripts/check_layers.sh
stage "sizes of files and functions" scripts/check_size.sh
stage "documents" scripts/check_docs.sh
stage "vocabulary" scripts/check_vocabulary.sh
stage "constants of CPU and GPU" scripts/check_constants.sh
stage "shell scripts" shell_check
stage "tests" normal
finish_stages
