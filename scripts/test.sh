#!/usr/bin/env bash
# Runs the tests, phase by phase: all of them, even if one fails. The last lines are a table of the
# phases, how long each took, how many tests were ignored, and what failed. Exits with 1 if anything did.
#
#     scripts/test.sh quick        what a contributor needs, in minutes
#     scripts/test.sh rest         all else: README's first command, virtual machines, a browser, real
#                                  programs, packages, proofs, clippy, sanitizers, Go, Python, Node.js, Java, documentation
#     scripts/test.sh rest go      only these phases
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
source scripts/crates.sh
source scripts/ignored.sh
source scripts/phases.sh

quick=(format tests)
# What uses one CPU runs beside research, and what compiles on all comes last.
rest=(research no_std proof kernel_proof first_command python node java complete wheels go packages uml arm64 thread_locals clippy sanitizers release documentation)

format() { cargo fmt --all --check && lock_files && mistakes; }

# Whether the scripts that make mistakes, which take minutes and hours, still know the code.
mistakes() {
    if command -v python3 > /dev/null; then
        scripts/orders.py --check && scripts/omissions.py --check && python3 drbg/proof --check
    else
        missing mistakes "scripts/orders.py, scripts/omissions.py and drbg/proof need python3"
    fi
}

# Each is what cargo would write; the fuzz targets have their own.
lock_files() {
    local lock status=0
    while read -r lock; do
        cargo update --quiet --workspace --locked --manifest-path "${lock%.lock}.toml" || status=1
    done < <(git ls-files '*Cargo.lock')
    return "$status"
}

# Of everything, and of the command as README's first command builds it.
clippy() {
    local status=0 checked
    for checked in "${product[*]}" "${research_packages[*]}" "--all-features ${interpreted[*]/#/--package=}" ""; do
        # shellcheck disable=SC2086
        cargo clippy $checked ${checked:+--all-targets} -- -D warnings || status=1
    done
    return "$status"
}

# Everything but research; the guards as a shared library has them.
tests() { cargo test --no-fail-fast "${product[@]}"; }

# The guards as programs in Rust have them: with plain thread locals. The controls, which show that the same
# scenarios can fail, have run.
thread_locals() { cargo test --no-fail-fast -p squall --features testing --test guards -- --skip /control; }

# README's first command, typed into a fresh checkout.
first_command() (
    set -e
    checkout=$(mktemp -d)
    trap 'rm -rf "$checkout"' EXIT
    git ls-files -z | tar --create --null --files-from - | tar --extract --directory "$checkout"
    cd "$checkout"
    command=$(sed -n '/^```$/{n;p;q}' README.md)
    echo "$command"
    env -u CARGO_TARGET_DIR bash -c "$command"
)

documentation() { RUSTDOCFLAGS="-D warnings" cargo doc --workspace --all-features --no-deps; }

# squall-drbg in a program that has no std, no allocator and no C library.
no_std() {
    if [ "$(uname -m)" != x86_64 ]; then
        ignored no_std "the program is written for x86-64"
        return
    fi
    RUSTFLAGS='-C relocation-model=static -C link-arg=-static -C link-arg=-nostdlib' \
        cargo run --release --locked --manifest-path drbg/tests/no_std/Cargo.toml --target x86_64-unknown-linux-gnu \
        --target-dir "${CARGO_TARGET_DIR:-target}/no_std"
}

# That the AES engines compute AES in counter mode, as they were compiled. `python3 drbg/proof --control` takes longer.
proof() {
    if [ "$(uname -m)" != x86_64 ]; then
        ignored proof "it is of the engines for x86-64"
    elif ! python3 drbg/proof --packages; then
        missing proof "it needs Python 3.11 or later with venv, and three packages from PyPI"
    else
        python3 drbg/proof
    fi
}

# Properties of the kernel module. `kernel/proof/run.sh --control` takes longer.
kernel_proof() { kernel/proof/run.sh; }

research() { cargo test --no-fail-fast "${research_packages[@]}"; }

# The tests that need anything, now with all that they may use and `make test` does not install (a browser,
# real programs, file systems, compilers), and those that take long. What was ignored runs here.
complete() {
    local status=0
    SQUALL_TEST_NEEDS=1 cargo test --no-fail-fast "${product[@]}" --examples --test '[!g]*' || status=1
    # Unit tests that are ignored need a browser, for which they cannot ask at run time.
    if command -v chromium > /dev/null; then
        cargo test --no-fail-fast "${product[@]}" --lib -- --ignored || status=1
    elif [ -n "${SQUALL_REQUIRE_BROWSER:-}" ]; then
        echo "error: there is no chromium to look at pages with" >&2
        status=1
    fi
    return "$status"
}

# What a request leaves behind is a property of optimised code.
release() {
    cargo test --release -p squall --features testing --test guards -- stack/ &&
        cargo test --release -p squall --features testing --test guards -- registers/
}

# Installed in a fresh Debian and removed again, made of what the tests have built.
packages() { PROFILE=test scripts/deb-test.sh; }

# The library, cross-built and emulated, and that it compiles for riscv64 and s390x; `make test-arm64` has the rest.
arm64() {
    if [ "$(uname -m)" != x86_64 ] || [ "$(id -u)" -ne 0 ] || ! scripts/arm64-root.sh --made > /dev/null 2>&1; then
        ignored "tests on arm64" "they run in a root directory that make test-arm64 makes, as root on x86-64"
    else
        # The engines that must run are those of this machine.
        env --unset SQUALL_REQUIRE_ENGINES scripts/test-arm64.sh library others
    fi
}

# The Python package: built, and each wheel installed and tried.
wheels() { scripts/wheels-test.sh; }

# squall's commands under a kernel that lacks what others have.
uml() { scripts/uml-test.sh; }

# AddressSanitizer, valgrind (memory and constant time), and the constant-time code that CPUs with AES do not run.
sanitizers() { scripts/sanitize.sh; }

go() { scripts/go.sh; }

python() { scripts/python.sh; }

node() { scripts/node.sh; }

java() { scripts/java.sh; }

case ${1:-} in
quick) phases=("${quick[@]}") ;;
rest) phases=("${rest[@]}") ;;
*)
    echo "usage: test.sh quick|rest [PHASE...]; quick: ${quick[*]}; rest: ${rest[*]}" >&2
    exit 2
    ;;
esac
kind=$1
shift
check_phases "test.sh: $kind" "${phases[@]}" -- "$@" || exit 2
[ $# -eq 0 ] || phases=("$@")

# What this machine can run must run: skipping it is a failure.
required=$(scripts/required.sh "$kind") || exit 1
# shellcheck disable=SC2163
while read -r assignment; do export "$assignment"; done <<< "$required"

# Most phases of the rest wait for one program or a virtual machine, so two run side by side.
at_once=1
[ "$kind" = quick ] || [ ${#phases[@]} -eq 1 ] || at_once=2
run_phases "$kind" "${phases[@]}"
