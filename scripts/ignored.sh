# For scripts that test: what does not run is said with the reason on a line that scripts/test.sh counts.

# ignored WHAT WHY
ignored() { echo "ignored: $1: $2"; }

# missing WHAT WHY: ignored for lack of something that can be installed. Where CI is set that is a failure.
missing() {
    [ -z "${CI:-}" ] || { echo "error: $1: $2" >&2; return 1; }
    ignored "$@"
}
