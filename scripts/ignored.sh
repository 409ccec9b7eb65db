# For scripts that test: a line says what does not run and why, and scripts/phases.sh counts it.

# ignored WHAT WHY
ignored() { echo "ignored: $1: $2"; }

# missing WHAT WHY: ignored because something is missing that can be installed. If CI is set, that is a failure.
missing() {
    [ -z "${CI:-}" ] || { echo "error: $1: $2" >&2; return 1; }
    ignored "$@"
}
