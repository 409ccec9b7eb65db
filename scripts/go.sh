#!/usr/bin/env bash
# Tests the Go module: with the race detector, with each guard turned off for its control, without
# assembly, on the systems it is built for; what staticcheck and govulncheck find; and that its
# assembly is what the generator writes. What this machine has not is named on a line with SKIP.
set -euo pipefail
cd "$(dirname "$0")/../go"

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
    echo "SKIP the Go module: there is no Go $(sed -n 's/^go //p' go.mod) or later"
    exit 0
fi
# Never another Go than the one that is here.
export GOTOOLCHAIN=local CGO_ENABLED=0 GOFLAGS=-mod=readonly

# say COMMAND... runs it and shows it.
say() {
    echo "go: $*"
    "$@"
}

formatted() {
    local files
    files=$(gofmt -l .)
    [ -z "$files" ] || { echo "not as gofmt has it: $files" >&2; return 1; }
}

say formatted
say go vet ./...
say go vet -tags squall_testing ./...
say go test ./...
say go test -tags squall_testing ./internal/generator
say go test -tags purego ./...
if command -v cc > /dev/null; then
    say env CGO_ENABLED=1 go test -race -short ./...
    say env CGO_ENABLED=1 go test -race -tags squall_testing ./internal/generator
else
    echo "SKIP the race detector: no C compiler"
fi
for system in linux/arm64 darwin/arm64 windows/amd64 linux/386; do
    say env GOOS="${system%/*}" GOARCH="${system#*/}" go build ./...
done

# The assembly of arm64. The guards need a kernel: an emulated CPU alone has none of them.
say env GOARCH=arm64 go vet ./...
if command -v qemu-aarch64 > /dev/null; then
    say env GOARCH=arm64 go test -short -exec qemu-aarch64 ./internal/aes256 ./internal/drbg ./internal/registers
else
    echo "SKIP the engine of arm64: no qemu-aarch64"
fi

# A tool that cannot be fetched is skipped, but not where CI is set.
fetched() {
    go run "$1" -version > /dev/null 2>&1 && return
    echo "SKIP ${1%@*}: it could not be fetched"
    [ -z "${CI:-}" ] || exit 1
    return 1
}

if fetched "$staticcheck"; then
    say go run "$staticcheck" ./...
    say go run "$staticcheck" -tags squall_testing ./internal/...
fi
if fetched "$govulncheck"; then
    # Its database is no module: a proxy for modules does not have it.
    found=$(go run "$govulncheck" ./... 2>&1) && echo "$found" || case $found in
        *"fetching vulnerabilities"*) echo "SKIP govulncheck: the database of vulnerabilities cannot be reached" ;;
        *) echo "$found" >&2; exit 1 ;;
    esac
fi
say ../scripts/go-asm.sh
