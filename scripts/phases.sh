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

# run_phases TITLE PHASE...: runs the phases. The last lines are a table of them, how long each took, how many
# tests were ignored, and what failed. Fails if anything did.
run_phases() {
    local title=$1 log phase begun result ignored table=() failures=()
    shift
    log=$(mktemp)
    # shellcheck disable=SC2064
    trap "rm -f '$log'" EXIT
    for phase in "$@"; do
        printf '\n=== %s\n' "$phase"
        begun=$SECONDS
        if "$phase" 2>&1 | tee "$log"; then result=passed; else result=FAILED; fi
        # Of the harnesses' summaries, and of scripts.
        ignored=$(sed -n 's/^test result: .* \([0-9]*\) ignored;.*/\1/p; s/^ignored: .*/1/p' "$log" |
            awk '{ all += $1 } END { print all + 0 }')
        table+=("$(printf '%-14s %-7s %5d s  %s' "$phase" "$result" $((SECONDS - begun)) \
            "$([ "$ignored" -eq 0 ] || echo "$ignored ignored")")")
        [ "$result" = passed ] || failures+=("$phase:" "$(what_failed "$log")")
    done
    printf '\n=== %s\n' "$title: $SECONDS s"
    printf '%s\n' "${table[@]}"
    [ ${#failures[@]} -eq 0 ] || {
        printf '%s\n' "" "${failures[@]}"
        return 1
    }
}
