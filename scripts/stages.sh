# stages.sh - what scripts/test.sh and scripts/check.sh share: stages that go on when one fails, and their counts.
# shellcheck shell=bash
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
passed=0 failed=0 skipped=0
failed_stages=()

begin_stages() { # folder for logs, outside of build folders: scripts/build.sh may start those afresh
    logs=$1
    mkdir -p "$logs"
    : >"$logs/skipped"
}

# Adds up the lines "N passed, N failed, N skipped" of a log; ctest's have a prefix.
add_up() { # log status seconds
    local counts p f s
    counts=$(awk '/(^|[ :])[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ {
            sub(/.*: /, ""); p += $1; f += $3; s += $5 } END { print p + 0, f + 0, s + 0 }' "$1")
    read -r p f s <<<"$counts"
    # A program that crashed or a build that broke counts as one failure.
    if [ "$2" -ne 0 ] && [ "$f" -eq 0 ]; then f=1; fi
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    printf '    %d passed, %d failed, %d skipped in %d s\n' "$p" "$f" "$s" "$3"
}

# Runs one stage with its output in a log; prints the end of the log when it fails.
stage() { # title, command...
    local title=$1 status log began=$SECONDS
    shift
    log=$logs/$(echo "$title" | tr -c 'a-z0-9\n' '_').log
    echo "== $title"
    "$@" >"$log" 2>&1
    status=$?
    if [ $status -ne 0 ]; then
        failed_stages+=("$title")
        tail -n 200 "$log"
    fi
    add_up "$log" $status $((SECONDS - began))
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

# Prints what was skipped, which stages failed, and the sums.
finish_stages() {
    if [ -s "$logs/skipped" ]; then
        echo "== skipped"
        sed -E 's/^skipped [a-zA-Z0-9_]+: /    /' "$logs/skipped" | sort | uniq -c | sort -rn | head -n 20
    fi
    echo
    [ ${#failed_stages[@]} -eq 0 ] || printf 'failed: %s\n' "${failed_stages[@]}"
    echo "$passed passed, $failed failed, $skipped skipped in $((SECONDS / 60)) min $((SECONDS % 60)) s"
    [ "$failed" -eq 0 ] && [ ${#failed_stages[@]} -eq 0 ]
}
