#!/usr/bin/env bash
# Runs `make test` five times and `make test-all` twice beside four busy loops of the same priority,
# and stops at the first failure: no test may depend on how busy the machine is. Takes hours; two
# numbers as arguments are other counts.
#
#     scripts/test-under-load.sh [QUICK [REST]]
set -euo pipefail
cd "$(dirname "$0")/.."

loops=()
for _ in 1 2 3 4; do
    while :; do :; done &
    loops+=($!)
done
trap 'kill "${loops[@]}"' EXIT

for ((run = 1; run <= ${1:-5}; run++)); do
    echo "=== make test, run $run under load"
    make test
done
for ((run = 1; run <= ${2:-2}; run++)); do
    echo "=== make test-all, run $run under load"
    make test-all
done
