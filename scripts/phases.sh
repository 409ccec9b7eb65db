# For scripts that test phase by phase. A phase is a function; all run, even if one fails.

# check_phases SCRIPT KNOWN... -- WANTED...: whether all WANTED are KNOWN; says what is right if not.
check_phases() {
    local script=$1 known=() phase
    shift
    while [ "$1" != -- ]; do
        known+=("$1")
        shift
    done
    shift
    for phase in "$@"; do
        case " ${known[*]} " in
        *" $phase "*) ;;
        *)
            echo "$script has no phase $phase: use some of ${known[*]}" >&2
            return 2
            ;;
        esac
    done
}

# The lines of the log $1 that tell what failed, or else the last ones.
what_failed() { grep -E '^test .* FAILED$|^error(\[|:)|^Diff in ' "$1" | sort -u || tail -n 5 "$1"; }

# run_phases TITLE PHASE...: runs the phases, `at_once` of them at the same time, one if that is unset. With more, each
# line begins with its phase. The last lines are a table of the phases, how long each took, how many tests were ignored,
# and what failed. Fails if anything did.
run_phases() {
    local title=$1 phase result seconds ignored table=() failures=()
    shift
    logs=$(mktemp -d)
    trap 'rm -rf "$logs"' EXIT
    if [ "${at_once:-1}" -eq 1 ]; then
        for phase in "$@"; do run_phase "$phase" cat; done
    else
        run_side_by_side "$@"
    fi
    for phase in "$@"; do
        # A phase that was killed may have neither a result nor a log.
        result=FAILED seconds=0
        [ ! -e "$logs/$phase.result" ] || read -r result seconds < "$logs/$phase.result"
        : >> "$logs/$phase"
        # Of the harnesses' summaries, and of scripts.
        ignored=$(sed -n 's/^test result: .* \([0-9]*\) ignored;.*/\1/p; s/^ignored: .*/1/p' "$logs/$phase" |
            awk '{ all += $1 } END { print all + 0 }')
        table+=("$(printf '%-14s %-7s %5d s  %s' "$phase" "$result" "$seconds" \
            "$([ "$ignored" -eq 0 ] || echo "$ignored ignored")")")
        [ "$result" = passed ] || failures+=("$phase:" "$(what_failed "$logs/$phase")")
    done
    printf '\n=== %s\n' "$title: $SECONDS s"
    printf '%s\n' "${table[@]}"
    [ ${#failures[@]} -eq 0 ] || {
        printf '%s\n' "" "${failures[@]}"
        return 1
    }
}

run_side_by_side() {
    local phase
    # Each phase has its own process group, so that an interrupt can be passed on to all its programs.
    set -m
    trap 'trap "" INT TERM HUP; kill -INT $(jobs -p | sed "s/^/-/"); wait; exit 130' INT TERM HUP
    for phase in "$@"; do
        while [ "$(jobs -rp | wc -l)" -ge "$at_once" ]; do wait -n; done
        run_phase "$phase" sed -u "s/^/$phase: /" < /dev/null &
    done
    wait
}

# run_phase PHASE SHOW...: runs PHASE and pipes its output through SHOW. `logs` gets the output and the result.
run_phase() {
    local phase=$1 begun=$SECONDS result=passed
    shift
    { printf '\n=== %s\n' "$phase"; "$phase"; } 2>&1 | tee "$logs/$phase" | "$@" || result=FAILED
    echo "$result $((SECONDS - begun))" > "$logs/$phase.result"
}
