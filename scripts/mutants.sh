#!/usr/bin/env bash
# Runs cargo-mutants on the library. Fails if a mutation survives the tests and .cargo/mutants.toml does
# not explain it. All files take hours; arguments are globs relative to squall/src.
#
#     scripts/mutants.sh guard/page.rs 'thread_generator/*.rs'
set -euo pipefail
cd "$(dirname "$0")/.."

command -v cargo-mutants > /dev/null || {
    echo "mutants.sh: cargo-mutants is not installed: run cargo install cargo-mutants --locked" >&2
    exit 1
}
[ $# -gt 0 ] || set -- 'guard/**' thread_generator.rs 'thread_generator/**' 'drbg/**' secret.rs \
    entropy/{cpu,hash,health,input,kernel,machine,mod,whirlwind}.rs 'entropy/whirlwind/**'

files=()
for file in "$@"; do
    files+=(--file "squall/src/$file")
done
# All tests that this machine can run must run: a guard that is not found is a failure.
exec env $(scripts/required.sh) cargo mutants --package squall --output target "${files[@]}"
