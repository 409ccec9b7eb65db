#!/usr/bin/env bash
# Tests squall on arm64, phase by phase: all of them, even if one fails. On other machines it needs root on
# Debian with x86-64; a line that begins with `ignored:` names each test that cannot run there, and why.
#
#     scripts/test-arm64.sh              everything
#     scripts/test-arm64.sh library      only these phases
#
# `library` builds the library in the root directory that arm64-root.sh makes, and runs its tests by qemu-user.
# `build` builds everything but research; `c_library`, `provider` and `command_line` run parts of it by
# qemu-user. `packages` makes Debian packages, and runs what is in them by qemu-user. `machines` boots Debian's
# kernels and runs the guards, the preload library's suite, the provider, the command and the Go module's tests
# in them, and clones machines (squall-lab). `others` only compiles, for riscv64 and s390x. On arm64 itself the
# tests of `make test` run.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
source scripts/crates.sh
source scripts/ignored.sh
source scripts/phases.sh

if [ "$(uname -m)" = aarch64 ]; then
    exec scripts/test.sh quick
fi
if [ "$(uname -m)" != x86_64 ] || [ "$(id -u)" -ne 0 ] || ! type apt-get > /dev/null 2>&1; then
    echo "test-arm64.sh: run it on arm64, or as root on Debian with x86-64" >&2
    exit 1
fi
cross=scripts/arm64.sh
messages=${CARGO_TARGET_DIR:-target}/arm64/messages

build() {
    cargo fetch --quiet --locked || return 1
    mkdir -p "${messages%/*}"
    "$cross" cargo test --locked --no-run --message-format=json "${product[@]}" > "$messages"
}

# run_test FOLDER NAME ARGUMENT...: runs the test NAME of the package in FOLDER by qemu-user, in its folder.
run_test() {
    local folder=$1 name=$2 program
    shift 2
    program=$(grep -F "/$folder#" "$messages" | grep -F "\"name\":\"$name\"" |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1)
    [ -n "$program" ] || {
        echo "test-arm64.sh: no test $name of $folder was built: run the phase build" >&2
        return 1
    }
    echo "$folder: $name"
    "$cross" env -C "$folder" PATH=/usr/lib/arm64-cross:/usr/sbin:/usr/bin:/sbin:/bin "$program" "$@"
}

# On its own, because `make test-all` runs this phase alone.
library() {
    cargo fetch --quiet --locked || return 1
    ignored "pages_are_what_their_kind_says" "qemu-user does not show the real /proc/self/smaps"
    local test=("$cross" cargo test --locked --package squall --all-features)
    "${test[@]}" --lib -- --skip pages_are_what_their_kind_says &&
        "${test[@]}" --test integration
}

c_library() {
    ignored "without_randomness_functions_return_errors" "qemu-user has no seccomp"
    run_test bindings/c integration --skip without_randomness_functions_return_errors
}

provider() {
    ignored "without_a_source_fresh_requests_fail" "qemu-user has no seccomp"
    run_test bindings/openssl integration --skip without_a_source_fresh_requests_fail || return 1
    ignored "the preload library" "qemu-user refuses PR_GET_SECCOMP, so the kernel serves all requests; the phase machines tests it"
}

command_line() {
    run_test cli integration stream:: && run_test cli integration status:: &&
        ignored "the rest of the command" "it needs drives, mounts and devices"
}

packages() {
    local folder=${messages%/*}/packages
    rm -rf "$folder"
    mkdir -p "$folder"
    PROFILE=test "$cross" dpkg-architecture -aarm64 -c scripts/deb.sh "$folder" > "$folder/log" 2>&1 || {
        cat "$folder/log"
        return 1
    }
    "$cross" bash -euc '
        work=$(mktemp -d)
        trap "rm -rf $work" EXIT
        for package in "$1"/*.deb; do
            case $(dpkg-deb -f "$package" Architecture) in arm64 | all) ;; *) exit 1 ;; esac
            dpkg-deb -x "$package" "$work"
        done
        libraries=$work/usr/lib/aarch64-linux-gnu
        "$work/usr/bin/squall" --version
        [ "$("$work/usr/bin/squall" stream --size 1MiB | wc -c)" -eq 1048576 ]
        aarch64-linux-gnu-gcc -o "$work/tokens" bindings/c/examples/tokens.c \
            "-I$work/usr/include" "-L$libraries" -lsquall
        LD_LIBRARY_PATH=$libraries "$work/tokens"
        ls "$libraries/ossl-modules/squall.so" "$libraries/libsquall-preload.so"
    ' packages "$(realpath "$folder")"
}

machines() {
    scripts/lab-deps.sh 6.12-arm64 6.12-arm64-16k newest-arm64 newest-arm64-16k > /dev/null || return 1
    local required=(SQUALL_TEST_ALL=1 SQUALL_REQUIRE_ARM64=1)
    # Without that kernel its test is ignored, but not in CI.
    if scripts/arm64-kernel-64k.sh; then
        required+=(SQUALL_REQUIRE_ARM64_64K=1)
    elif [ -n "${CI:-}" ]; then
        return 1
    fi
    env "${required[@]}" cargo test --all-features -p squall-lab --test integration -- arm64::
}

# Compiles what does not depend on the CPU, for 64 bits, little-endian and big-endian. A crate that the
# command depends on does not support s390x.
others() {
    local libraries=(-p squall -p squall-binding-base -p squall-c -p squall-preload -p squall-openssl)
    "$cross" cargo check --locked --target riscv64gc-unknown-linux-gnu "${libraries[@]}" -p squall-cli &&
        "$cross" cargo check --locked --target s390x-unknown-linux-gnu "${libraries[@]}"
}

phases=(library build c_library provider command_line packages machines others)
check_phases test-arm64.sh "${phases[@]}" -- "$@" || exit 2
[ $# -eq 0 ] || phases=("$@")
run_phases arm64 "${phases[@]}"
