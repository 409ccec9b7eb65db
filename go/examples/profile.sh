#!/usr/bin/env bash
# Takes a CPU profile of both programs with every source. Prints the share of samples in system calls, and
# the share in randomness, including system calls for it:
#
#   go/examples/profile.sh [SECONDS]
#
# `rate` runs for ten seconds by default. crypto/rand's call of the vDSO counts as randomness; the system
# call that the vDSO makes after a reseed of the kernel's RNG cannot be separated from it.
set -euo pipefail

seconds=${1:-10}
cd "$(dirname "$0")"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
go build -o "$scratch" ./feed ./rate

# Functions of Go's runtime that make system calls, and functions that make random numbers.
calls='^(internal/runtime/syscall/linux\.Syscall6|runtime\.(futex|usleep|osyield|tgkill|getpid|madvise|sysMmap|sysMunmap|read|write1|rtsigprocmask))$'
randomness='^(github\.com/squall-rng/squall/go\.|github\.com/squall-rng/squall/go/internal/|github\.com/squall-rng/squall/go/examples/internal/example\.systemCall|crypto/rand\.|crypto/internal/|internal/syscall/unix\.|runtime\.vgetrandom|math/rand)'

# The share of samples that have a matching function in their stack: share PROGRAM PROFILE REGEX.
share() {
    go tool pprof -top -focus "$3" "$1" "$2" 2> "$scratch/errors" |
        sed -nE 's/^Showing nodes accounting for [^,]*, ([0-9.e+-]+)% of .* total$/\1/p'
}

one() {
    local name=$1 source=$2
    shift 2
    local profile=$scratch/$name-$source.pprof
    "$scratch/$name" -source "$source" -profile "$profile" "$@" > "$scratch/line"
    echo "$name $source: $(share "$scratch/$name" "$profile" "$calls") % in system calls," \
        "$(share "$scratch/$name" "$profile" "$randomness") % in randomness;" \
        "the kernel counts $(sed -E 's/.*system, ([0-9.]+) %.*/\1/' "$scratch/line") % of CPU time in itself"
}

# Five times the article's values if a run is short, for enough samples.
for source in squall crypto syscall; do
    one feed "$source" -values 50000
done
for source in squall-source math; do
    one feed "$source"
done
for source in squall crypto syscall math; do
    one rate "$source" -seconds "$seconds"
done
