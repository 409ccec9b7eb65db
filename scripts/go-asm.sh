#!/usr/bin/env bash
# Checks that the Go module's assembly equals the output of its generator. The check is ignored if the
# generator's modules cannot be fetched, or fails if CI is set.
set -euo pipefail
cd "$(dirname "$0")/../go"
source ../scripts/ignored.sh

if ! go -C internal/asmgen mod download; then
    missing "the Go module's assembly" "the modules that write it could not be fetched"
    exit
fi

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir "$scratch/internal"
cp go.mod go.sum "$scratch"
cp -R internal/asmgen internal/aes256 "$scratch/internal"
generated=(internal/aes256/aes256_amd64.s internal/aes256/stubs_amd64.go)
(cd "$scratch" && rm "${generated[@]}")
go -C "$scratch/internal/aes256" generate

for file in "${generated[@]}"; do
    if ! cmp "$file" "$scratch/$file"; then
        echo "go/$file differs from its generator's output: run go generate in go/internal/aes256" >&2
        exit 1
    fi
done
