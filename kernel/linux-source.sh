# Sets `source` and `work` from a script's arguments SOURCE, an unpacked linux-source of Debian, and WORK, a folder that
# is made, and kept if it is named. A script sources this file.
# shellcheck shell=bash disable=SC2034 # both are for the script
[ -e "${1:-}/drivers/char/random.c" ] || { echo "usage: ${0##*/} SOURCE [WORK]" >&2; exit 2; }
source=$(cd "$1" && pwd)
if [ -n "${2:-}" ]; then
    mkdir -p "$2"
    work=$(cd "$2" && pwd)
else
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
fi
