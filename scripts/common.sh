# shellcheck shell=bash
# Shared by ./run, ./test, bench/run and .ci/run: packages, presets, building. Sourced, never run.
# The caller has set ROOT to the top of the tree.

say() { printf '%s\n' "$*" >&2; }
die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# packages SET...: the names in scripts/packages.txt that belong to one of the sets.
packages() {
    awk -v sets=" $* " '!/^#/ && NF && index(sets, " " $1 " ") { print $2 }' \
        "$ROOT/scripts/packages.txt"
}

# need_packages SET...: install what is missing. One dpkg-query when nothing is.
need_packages() {
    command -v dpkg-query >/dev/null ||
        die "this is not Debian: install the equivalents of scripts/packages.txt, then use cmake --preset"
    local wanted installed missing
    wanted=$(packages "$@" | sort -u)
    # shellcheck disable=SC2086 # words, on purpose; as everywhere for lists of packages
    installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' $wanted 2>/dev/null |
        awk '$1 == "installed" { print $2 }' | sort -u)
    missing=$(comm -23 <(printf '%s\n' "$wanted") <(printf '%s\n' "$installed"))
    [ -z "$missing" ] && return 0

    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null ||
            die "missing packages, and neither root nor sudo to install them: ${missing//$'\n'/ }"
        as_root=(sudo)
    fi
    say "installing: ${missing//$'\n'/ }"
    local log
    log=$(mktemp)
    # shellcheck disable=SC2086
    if ! { "${as_root[@]}" apt-get update -q &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
            apt-get install -y -q --no-install-recommends $missing; } >"$log" 2>&1 </dev/null; then
        tail -n 25 "$log" >&2
        rm -f "$log"
        die "apt-get could not install the packages above; mend that and call again"
    fi
    rm -f "$log"
}

# One build of this tree at a time. The lock goes with the shell or with unlock_builds.
lock_builds() {
    mkdir -p "$ROOT/build"
    exec 9>"$ROOT/build/.lock"
    flock -n 9 && return 0
    say "waiting for another build of this tree to end"
    flock 9
}
unlock_builds() { exec 9>&-; }

# configure PRESET: only when there is nothing to build from, or what is there is stale.
configure() {
    local preset=$1 dir=$ROOT/build/$1 log
    if [ -f "$dir/build.ninja" ] && [ ! "$ROOT/CMakePresets.json" -nt "$dir/build.ninja" ] &&
        grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$ROOT" "$dir/CMakeCache.txt" 2>/dev/null; then
        return 0
    fi
    mkdir -p "$dir"
    log=$dir/configure.log
    if ! (cd "$ROOT" && cmake --fresh --preset "$preset") >"$log" 2>&1; then
        cat "$log" >&2
        die "cmake could not configure the preset $preset; its words are above"
    fi
}

# refresh PRESET: configure, and again where sources have come or gone since.
refresh() {
    configure "$1"
    local log=$ROOT/build/$1/configure.log
    if ! ninja -C "$ROOT/build/$1" build.ninja >"$log" 2>&1; then
        cat "$log" >&2
        die "cmake could not configure the preset $1; its words are above"
    fi
}

# build PRESET TARGET...: silent but for what the compiler says; progress on a terminal.
build() {
    local preset=$1
    shift
    refresh "$preset"
    if [ -t 1 ]; then
        ninja -C "$ROOT/build/$preset" "$@"
    else
        ninja -C "$ROOT/build/$preset" --quiet "$@" 2>&1 | sed '/^ninja: no work to do/d' >&2
    fi
}

# has_target PRESET TARGET: does the tree have sources for it yet?
has_target() {
    ninja -C "$ROOT/build/$1" -t query "$2" >/dev/null 2>&1
}

# How sanitized programs report. What the caller has set wins.
sanitizer_environment() {
    export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1:strict_string_checks=1}
    export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
    export TSAN_OPTIONS=${TSAN_OPTIONS:-second_deadlock_stack=1}
}
