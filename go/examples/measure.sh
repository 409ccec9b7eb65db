#!/usr/bin/env bash
# Runs both of the article's programs with every source, in turns, and prints medians and ranges:
#
#   go/examples/measure.sh [ROUNDS [SECONDS [FLAGS OF RATE ...]]]
#
# The defaults are five rounds, and ten seconds of `rate`.
set -euo pipefail

rounds=${1:-5} seconds=${2:-10}
rate_flags=("${@:3}")
cd "$(dirname "$0")"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
go build -o "$scratch" ./feed ./rate

feeds=(squall squall-source crypto syscall math)
rates=(squall crypto syscall math)

for ((round = 0; round < rounds; round++)); do
    for source in "${feeds[@]}"; do
        "$scratch/feed" -source "$source" | sed -E 's/.*: ([0-9.]+) s; .*/\1/' >> "$scratch/feed-$source"
    done
    for source in "${rates[@]}"; do
        "$scratch/rate" -source "$source" -seconds "$seconds" "${rate_flags[@]}" |
            sed -E 's/.*: ([0-9.]+) MB.*/\1/' >> "$scratch/rate-$source"
    done
done

# Prints the median of a file's numbers, and the least and greatest.
summary() {
    sort -n "$1" | awk '{ at[NR] = $1 } END { print (at[int((NR + 1) / 2)] + at[int(NR / 2) + 1]) / 2, "(" at[1] " to " at[NR] ")" }'
}

echo "load of the last minute: $(cut -d ' ' -f 1 /proc/loadavg)"
for source in "${feeds[@]}"; do
    echo "feed $source: $(summary "$scratch/feed-$source") s"
done
for source in "${rates[@]}"; do
    echo "rate $source: $(summary "$scratch/rate-$source") MB/s"
done
