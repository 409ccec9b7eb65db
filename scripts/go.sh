#!/usr/bin/env bash
# Tests the Go module: with each guard turned off for its control, without assembly, and in short under the race
# detector; on the systems it is built for; and what staticcheck and govulncheck find. What cannot run here is
# ignored with the reason.
set -euo pipefail
cd "$(dirname "$0")/../go"
source ../scripts/ignored.sh

staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.1
govulncheck=golang.org/x/vuln/cmd/govulncheck@v1.9.0

# Whether this is Go, and as new as the module asks for. Debian's may be older.
has_go() {
    local wanted found
    wanted=$(sed -n 's/^go //p' go.mod)
    found=$(go env GOVERSION 2> /dev/null) || return 1
    found=${found#go}
    [ "$(printf '%s\n' "$wanted" "$found" | sort -V | head -n 1)" = "$wanted" ]
}

if ! has_go; then
    ignored "the Go module" "there is no Go $(sed -n 's/^go //p' go.mod) or later"
    exit
fi
# Never another Go than the one that is here.
export GOTOOLCHAIN=local CGO_ENABLED=0 GOFLAGS=-mod=readonly

# say COMMAND... shows it and runs it.
say() {
    echo "go: $*"
    "$@" || { echo "error: $* failed" >&2; return 1; }
}

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
runs=0

# tested COMMAND... runs tests that tell of each, which must succeed, and shows what it says of packages. If
# one fails it shows everything.
tested() {
    local log="$logs/$((runs += 1))"
    echo "go: $*"
    if "$@" > "$log" 2>&1; then
        grep -E '^(ok|\?)' "$log"
    else
        cat "$log"
        sed -n 's/^ *--- FAIL: \([^ ]*\) .*/test \1 ... FAILED/p' "$log"
        echo "error: $* failed" >&2
        return 1
    fi
}

# Names the tests that were skipped in each run that has them, with the reasons.
skipped() {
    awk '
        /^=== (RUN|NAME|CONT) / { test = $3 }
        /^ +[a-z0-9_]+\.go:[0-9]+: / { sub(/^ +[^ ]+ /, ""); said[test] = $0 }
        /^ *--- (PASS|SKIP): / { result[$3] = $2 }
        /^(ok|FAIL)[ \t]/ {
            for (test in result)
                if (result[test] == "SKIP:") why[$2 " " test] = said[test]
                else ran[$2 " " test] = 1
            split("", result)
            split("", said)
        }
        END { for (test in why) if (!(test in ran)) print test "\t" why[test] }
    ' "$logs"/* | sort
}

formatted() {
    local files
    files=$(gofmt -l .)
    [ -z "$files" ] || { echo "not as gofmt has it: $files" >&2; return 1; }
}

say formatted
say go vet ./...
say go vet -tags squall_testing ./...
say go vet -tags purego ./...
# Without vet, which go test would run again for each configuration.
tests=(go test -vet=off -timeout 30m -v)
tested "${tests[@]}" ./...
tested "${tests[@]}" -tags squall_testing ./internal/generator
tested "${tests[@]}" -tags purego ./...
if command -v cc > /dev/null; then
    tested env CGO_ENABLED=1 "${tests[@]}" -race -short ./...
    # The race detector slows this test, so it drops fewer pages.
    tested env CGO_ENABLED=1 SQUALL_DROPS=2048 "${tests[@]}" -race -short -tags squall_testing ./internal/generator
else
    missing "the race detector" "there is no C compiler"
fi
say env GOARCH=arm64 go vet ./...
say env GOARCH=arm64 go vet -tags squall_testing ./...
if command -v qemu-aarch64 > /dev/null; then
    # An emulated CPU without a kernel of its own has none of the guards. Neoverse N1 has no RNDR. The engines
    # that must run are those of this machine.
    assembly=(./internal/aes256 ./internal/drbg ./internal/registers)
    emulated=(--unset=SQUALL_REQUIRE_ENGINES GOARCH=arm64 "GOFLAGS=$GOFLAGS -exec=qemu-aarch64")
    tested env "${emulated[@]}" "${tests[@]}" "${assembly[@]}"
    tested env "${emulated[@]}" QEMU_CPU=neoverse-n1 "${tests[@]}" "${assembly[@]}"
else
    ignored "the Go module's assembly for arm64" "qemu-aarch64 is not installed"
fi
skipped | while IFS=$'\t' read -r test why; do ignored "$test" "$why"; done
for system in linux/arm64 darwin/arm64 windows/amd64 linux/386; do
    say env GOOS="${system%/*}" GOARCH="${system#*/}" go build ./...
done

fetched() {
    go run "$1" -version > /dev/null 2>&1 && return
    missing "${1%@*}" "it could not be fetched" || exit 1
    return 1
}

if fetched "$staticcheck"; then
    say go run "$staticcheck" ./...
    say go run "$staticcheck" -tags squall_testing ./internal/...
fi
if fetched "$govulncheck"; then
    # Its database is no module: a proxy for modules does not have it.
    found=$(go run "$govulncheck" ./... 2>&1) && echo "$found" || case $found in
        *"fetching vulnerabilities"*) ignored govulncheck "the database of vulnerabilities cannot be reached" ;;
        *) echo "$found" >&2; exit 1 ;;
    esac
fi
