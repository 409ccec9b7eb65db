#!/usr/bin/env bash
# Runs cargo-mutants on the library and on squall-drbg. Fails if a mutation survives the tests and
# .cargo/mutants.toml does not explain it. All files take hours; arguments are globs from the root.
#
#     scripts/mutants.sh squall/src/guard/page.rs 'drbg/src/engine/chacha20/*.rs'
set -euo pipefail
cd "$(dirname "$0")/.."

command -v cargo-mutants > /dev/null || {
    echo "mutants.sh: cargo-mutants is not installed: run cargo install cargo-mutants --locked" >&2
    exit 1
}
[ $# -gt 0 ] || set -- drbg/src/{cpuid,ctr_drbg,ctr_drbg_df,engine,error,fast_key_erasure,rng,secret}.rs drbg/src/engine/{chacha20,choice,portable,registers,x86_64}.rs \
    'drbg/src/engine/chacha20/**' 'drbg/src/engine/x86_64/**' squall/src/{guard,thread_generator}.rs squall/src/{guard,thread_generator}/'**' \
    squall/src/entropy.rs squall/src/entropy/{cpu,hash,health,input,kernel,machine,whirlwind}.rs 'squall/src/entropy/whirlwind/**'

drbg=() squall=()
for file in "$@"; do
    case $file in
    drbg/src/*) drbg+=(--file "$file") ;;
    squall/src/*) squall+=(--file "$file") ;;
    *)
        echo "mutants.sh: $file is neither in drbg/src nor in squall/src" >&2
        exit 2
        ;;
    esac
done

# mutants PACKAGE TESTS ARGUMENT...: nothing but the TESTS is built. All that this machine can run must run: a guard that
# is not found is a failure. Tests that do not end have noticed a mutation; cargo-mutants then ends with status 3, whether
# or not another survived.
mutants() {
    local status=0
    mkdir -p "target/mutants/$1"
    # shellcheck disable=SC2046,SC2086
    env $(scripts/required.sh) cargo mutants --package "$1" --output "target/mutants/$1" \
        ${2//--/--cargo-arg=--} "${@:3}" || status=$?
    [ "$status" -eq 0 ] || { [ "$status" -eq 3 ] && [ ! -s "target/mutants/$1/mutants.out/missed.txt" ]; }
}

status=0
[ ${#drbg[@]} -eq 0 ] || mutants squall-drbg "--lib --test=integration" "${drbg[@]}" || status=1
[ ${#squall[@]} -eq 0 ] || mutants squall "--lib --test=guards --test=integration" "${squall[@]}" || status=1
exit "$status"
