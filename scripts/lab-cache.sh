# For scripts that fill squall-lab's cache, $SQUALL_LAB_CACHE or otherwise squall-lab in $XDG_CACHE_HOME or in
# ~/.cache: sets `cache`, and locks it until the script ends.

fail() {
    echo "${0##*/}: $*" >&2
    exit 1
}

# logged WHAT COMMAND...: runs the command. If it fails, the line that says why is shown.
logged() {
    local what=$1
    shift
    LC_ALL=C "$@" > "$log" 2>&1 < /dev/null && return
    fail "$what: $(grep -m 1 'No space left on device' "$log" || grep -m 1 -E '^E:|error:|Error [0-9]' "$log" ||
        tail -n 1 "$log") (all of it is in $log)"
}

cache=$(realpath -m "${SQUALL_LAB_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/squall-lab}")
log=$cache/log
case $cache in
"$(pwd -P)"/*) fail "$cache: it is inside the source tree: use another directory for the cache" ;;
*[\":\;]*) fail "$cache: its name has a quotation mark, colon or semicolon: use another directory for the cache" ;;
esac
mkdir -p "$cache"
exec 9> "$cache/lock"
flock -n 9 || {
    echo "${0##*/}: waiting for another run" >&2
    flock 9
}
