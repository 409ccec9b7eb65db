#!/usr/bin/env bash
# Looks for memory errors, and tests what this CPU would not run by itself.
#
# Runs the library's tests with the constant-time code of the `aes` crate (soft_aes), under AddressSanitizer if there is
# a nightly toolchain, and under valgrind (memcheck), which knows no VAES and so shows as well that other engines are
# chosen where that is lacking. A third run, constant_time, has memcheck find what depends on a key. Names as arguments
# choose runs, among them miri, which takes half an hour and is left out otherwise: Miri interprets squall-drbg. Without
# a nightly toolchain AddressSanitizer is ignored. Without valgrind memcheck and constant_time are ignored, and miri
# without Miri; they fail if CI is set. A finding makes the exit status 1.

set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
source scripts/crates.sh
source scripts/ignored.sh

target=${CARGO_TARGET_DIR:-$PWD/target}
features=(--package squall-drbg --package squall --features squall/rand_core_09)
tests=(--lib --test integration)

soft_aes() {
    local flags='--cfg aes_backend="soft"' host
    local -x CARGO_TARGET_DIR=$target/sanitize
    if host=$(rustc +nightly -vV 2> /dev/null | sed -n 's/^host: //p'); then
        # Left out: AddressSanitizer makes mlock do nothing, and keeps the variables of functions elsewhere.
        RUSTFLAGS="-Zsanitizer=address $flags" \
            cargo +nightly test --target "$host" "${features[@]}" "${tests[@]}" -- \
            --skip pages_are_what_their_kind_says --skip the_stack_
    else
        ignored AddressSanitizer "there is no nightly toolchain"
        RUSTFLAGS=$flags cargo test "${features[@]}" "${tests[@]}"
    fi
}

# The tests of `guard` hand bad addresses to the kernel on purpose, and those of the stack read below it;
# valgrind knows no trap flag; the others that are left out take minutes here, or VAES.
memcheck() {
    if ! command -v valgrind >/dev/null; then
        missing memcheck "valgrind is not installed"
        return
    fi
    valgrind_on squall-drbg --lib -- the_stack_ &&
        valgrind_on squall-drbg --test integration -- ::vaes &&
        valgrind_on squall --lib -- guard a_root_is_ready a_full_buffer_stays_locked \
            a_holder_is_waited_for a_copy_replaces_what the_seed_that_is_taken no_sample_is_counted_twice &&
        valgrind_on squall --test integration -- ::vaes whirlwind:: long_requests \
            past_the_cache are_statistically_even are_not_even every_byte comes_twice do_not_repeat
}

# The example says what it does, and fails too if its leaks on purpose are not reported. The crate `aes` has two codes.
constant_time() {
    if [ "$(uname -m)" != x86_64 ]; then
        ignored constant_time "its requests to valgrind are written for x86-64"
    elif ! command -v valgrind > /dev/null; then
        missing constant_time "valgrind is not installed"
    else
        reports_on_keys && CARGO_TARGET_DIR=$target/sanitize RUSTFLAGS='--cfg aes_backend="soft"' reports_on_keys
    fi
}

# With lines, by which valgrind knows inlined functions.
reports_on_keys() {
    cargo build --release --config 'profile.release.package.squall-drbg.debug="line-tables-only"' \
        --package squall-drbg --features testing --example constant_time &&
        valgrind --quiet --suppressions=drbg/examples/constant_time.supp \
            "${CARGO_TARGET_DIR:-target}/release/examples/constant_time"
}

# Miri has no CPUID and no assembly, but interprets most instructions that a program is compiled for, if not all that the
# crate `aes` uses. So the portable engine comes first, and on x86-64 the others follow.
miri() {
    local instructions='-C target-feature=+aes,+ssse3,+sse4.1,+avx2,+vaes,+avx512f,+avx512bw,+avx512vl'
    if ! cargo +nightly miri --version > /dev/null 2>&1; then
        missing miri "there is no nightly toolchain with Miri: run rustup toolchain install nightly --component miri"
        return
    fi
    interpreted portable "" || return
    [ "$(uname -m)" != x86_64 ] ||
        interpreted aesni,vaes256,vaes512 "$instructions --cfg aes_backend=\"soft\"" --skip portable
}

# interpreted ENGINES FLAGS ARGUMENT...: squall-drbg's tests that end within minutes, which read files.
interpreted() {
    local -x SQUALL_REQUIRE_ENGINES=$1 RUSTFLAGS=$2 MIRIFLAGS=-Zmiri-disable-isolation
    local miri=(cargo +nightly miri test --package squall-drbg --all-features) filter
    "${miri[@]}" --lib || return
    for filter in keystreams_give every_length_of every_alignment_of in_pieces; do
        "${miri[@]}" --test integration -- "$filter" "${@:3}" | tee /dev/stderr | grep '^test result: ok. [1-9]' || return
    done
}

# valgrind_on PACKAGE CARGO_ARGUMENTS... -- SKIPPED_TESTS...
valgrind_on() {
    local package=$1 selection=() path
    shift
    while [ "$1" != -- ]; do
        selection+=("$1")
        shift
    done
    shift
    path=$(program "$package" "${selection[@]}") && [ -n "$path" ] || return 1
    echo "valgrind: $package ${selection[*]}"
    # What the CPU has, valgrind need not have.
    env -u SQUALL_REQUIRE_ENGINES valgrind --quiet --error-exitcode=1 "$path" --test-threads=1 "${@/#/--skip=}"
}

# program PACKAGE CARGO_ARGUMENTS...: prints the path of a test's program, as `make test` builds it.
program() {
    local package=$1
    shift
    cargo test --quiet "${product[@]}" "$@" --no-run --message-format=json |
        grep '"package_id":"[^"]*[/#]'"$package"'[#@]' |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p'
}

[ $# -gt 0 ] || set -- soft_aes memcheck constant_time
failed=()
for run in "$@"; do
    case $run in
    soft_aes | memcheck | constant_time | miri) "$run" || failed+=("$run") ;;
    *)
        echo "no run is called $run: there are soft_aes, memcheck, constant_time and miri" >&2
        exit 2
        ;;
    esac
done
if [ ${#failed[@]} -gt 0 ]; then
    echo "error: sanitize: ${failed[*]} failed" >&2
    exit 1
fi
