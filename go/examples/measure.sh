#!/usr/bin/env bash
# Runs both of the article's programs with every source, in turns, and prints medians and ranges:
#
#   go/examples/measure.sh [ROUNDS [SECONDS [FLAGS OF RATE ...]]]
#
# The defaults are five rounds, and ten seconds of `rate`. Then it runs each once under a CPU profile. It prints the
# share of samples in system calls, and the share in randomness, including system calls for it. crypto/rand's call of
# the vDSO counts as randomness; the system call that the vDSO makes after a reseed of the kernel's RNG cannot be
# separated from it.
set -euo pipefail

rounds=${1:-5} seconds=${2:-10}
rate_flags=(-seconds "$seconds" "${@:3}")
cd "$(dirname "$0")"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
go build -o "$scratch" ./feed ./rate

# The programs and their sources.
runs=(feed\ {squall,squall-source,crypto,syscall,math} rate\ {squall,crypto,syscall,math})

# run PROGRAM SOURCE FLAGS... prints its line.
run() {
    local flags=("${@:3}")
    [ "$1" = feed ] || flags+=("${rate_flags[@]}")
    "$scratch/$1" -source "$2" "${flags[@]}"
}

for ((round = 0; round < rounds; round++)); do
    for each in "${runs[@]}"; do
        run $each | sed -E 's/^[^:]*: ([0-9.]+) MB.*/\1/; s/.*: ([0-9.]+) s; .*/\1/' >> "$scratch/$each"
    done
done

# Prints the median of a file's numbers, and the least and greatest.
summary() {
    sort -n "$1" | awk '{ at[NR] = $1 } END { print (at[int((NR + 1) / 2)] + at[int(NR / 2) + 1]) / 2, "(" at[1] " to " at[NR] ")" }'
}

echo "load of the last minute: $(cut -d ' ' -f 1 /proc/loadavg)"
for each in "${runs[@]}"; do
    echo "$each: $(summary "$scratch/$each") $([ "${each% *}" = feed ] && echo s || echo MB/s)"
done

# Functions of Go's runtime that make system calls, and functions that make random numbers.
calls='^(internal/runtime/syscall/linux\.Syscall6|runtime\.(futex|usleep|osyield|tgkill|getpid|madvise|sysMmap|sysMunmap|read|write1|rtsigprocmask))$'
randomness='^(github\.com/squall-rng/squall/go\.|github\.com/squall-rng/squall/go/internal/|github\.com/squall-rng/squall/go/examples/internal/example\.systemCall|crypto/rand\.|crypto/internal/|internal/syscall/unix\.|runtime\.vgetrandom|math/rand)'

# The share of samples that have a matching function in their stack: share PROGRAM REGEX.
share() {
    go tool pprof -top -focus "$2" "$scratch/$1" "$scratch/profile" 2> "$scratch/errors" |
        sed -nE 's/^Showing nodes accounting for [^,]*, ([0-9.e+-]+)% of .* total$/\1/p'
}

for each in "${runs[@]}"; do
    flags=(-profile "$scratch/profile")
    # Five times the article's values if a run is short, for enough samples.
    case $each in feed\ squall | feed\ crypto | feed\ syscall) flags+=(-values 50000) ;; esac
    run $each "${flags[@]}" > "$scratch/line"
    program=${each% *}
    echo "$each: $(share "$program" "$calls") % in system calls, $(share "$program" "$randomness") % in randomness;" \
        "the kernel counts $(sed -E 's/.*system, ([0-9.]+) %.*/\1/' "$scratch/line") % of CPU time in itself"
done
