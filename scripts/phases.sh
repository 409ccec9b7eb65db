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

# run_phase PHASE LOG: runs the phase. Writes what it says to LOG, too, its row of the table to LOG.row, and what
# failed to LOG.failures.
run_phase() {
    local phase=$1 log=$2 begun=$SECONDS result=passed ignored
    printf '\n=== %s\n' "$phase"
    if ! "$phase" 2>&1 | tee "$log"; then
        result=FAILED
        { echo "$phase:"; what_failed "$log"; } > "$log.failures"
    fi
    # Of the harnesses' summaries, and of scripts.
    ignored=$(sed -n 's/^test result: .* \([0-9]*\) ignored;.*/\1/p; s/^ignored: .*/1/p' "$log" |
        awk '{ all += $1 } END { print all + 0 }')
    printf '%-14s %-7s %5d s  %s\n' "$phase" "$result" $((SECONDS - begun)) \
        "$([ "$ignored" -eq 0 ] || echo "$ignored ignored")" > "$log.row"
}

# run_phases TITLE PHASE...: runs the phases, one by one; but the one that is called $beside runs beside those after
# it, and is shown after them. The last lines are a table of them, how long each took, how many tests were ignored,
# and what failed. Fails if anything did.
run_phases() {
    local title=$1 logs phase failed
    behind=
    shift
    logs=$(mktemp -d)
    # shellcheck disable=SC2064
    trap "end_with '$logs'" EXIT
    for phase in "$@"; do
        if [ "$phase" = "${beside:-}" ] && [ "$phase" != "${*: -1}" ]; then
            # Job control gives it a process group, which end_with ends.
            set -m
            run_phase "$phase" "$logs/$phase" > "$logs/$phase.shown" 2>&1 &
            set +m
            behind=$!
        else
            run_phase "$phase" "$logs/$phase"
        fi
    done
    if [ -n "$behind" ]; then
        wait "$behind" || echo "$beside: it was ended" > "$logs/$beside.failures"
        behind=
        cat "$logs/$beside.shown"
    fi
    printf '\n=== %s\n' "$title: $SECONDS s"
    for phase in "$@"; do cat "$logs/$phase.row" 2> /dev/null; done
    failed=$(cat "$logs"/*.failures 2> /dev/null)
    [ -z "$failed" ] || { printf '\n%s\n' "$failed"; return 1; }
}

# end_with LOGS: leaves neither logs nor a phase that runs beside an interrupted one.
end_with() {
    [ -z "$behind" ] || kill -- "-$behind"
    rm -rf "$1"
}
