# shellcheck shell=bash
# How test programs are run and counted. Sourced by ./test, which sets LOGS (a directory) and
# launcher (words before each command, may be empty).

passed=0 failed=0
tally() {
    passed=$((passed + $1))
    failed=$((failed + $2))
}

# run_program NAME SECONDS COMMAND...: run it, keep its words in a log, leave "passed failed" in
# NAME.count. A crash, a time limit, or an end without counts is one failure more.
run_program() {
    local name=$1 limit=$2 log=$LOGS/$1.log status good=0 bad=0 why=
    shift 2
    rm -f "$LOGS/$name.count"
    # The braces keep the shell's own word about a crash out of the report.
    { timeout --kill-after=10 "$limit" "${launcher[@]}" "$@" >"$log" 2>&1 </dev/null; } 2>/dev/null
    status=$?
    local line
    line=$(grep -aE '^[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?$' "$log" | tail -n 1)
    if [ -n "$line" ]; then
        good=${line%% *}
        bad=${line#*, }
        bad=${bad%% *}
    fi
    if [ $status -eq 124 ]; then
        why="stopped after $limit seconds"
    elif [ $status -gt 128 ]; then
        why="killed by signal $((status - 128))"
    elif [ -z "$line" ]; then
        why="ended with status $status and no count of tests"
    elif [ $status -ne 0 ] && [ "$bad" -eq 0 ]; then
        why="ended with status $status after its tests"
    elif [ $((good + bad)) -eq 0 ]; then
        why="ran no test"
    fi
    [ -n "$why" ] && bad=$((bad + 1))
    if [ "$bad" -gt 0 ]; then
        # One write, so that programs running side by side do not mix their words.
        say "$(printf '%s\n' "---- $name failed${why:+: $why}" && tail -n 200 "$log")"
    fi
    echo "$good $bad" >"$LOGS/$name.count"
}

# collect NAME...: add up what run_program left; nothing left is a failure.
collect() {
    local name good bad
    for name in "$@"; do
        read -r good bad <"$LOGS/$name.count" || { good=0 bad=1; }
        tally "$good" "$bad"
    done
}
