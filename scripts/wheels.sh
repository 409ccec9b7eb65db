#!/usr/bin/env bash
# Builds the Python package into a folder, by default target/wheels: the source distribution, a wheel for this
# machine's CPU, and on x86-64 one for aarch64:
#
#     wheels.sh [FOLDER]
#
# The wheel for aarch64 is built in the root directory of arm64-root.sh, which needs root on Debian; without, a line
# says that it is left out. With WHEELS_AARCH64=made it is also left out if that directory was not made before.
#
# A free-threaded Python can use neither wheel. If PYTHON_FREE_THREADED names one, 3.14 or later, or python3.14t is on the
# PATH, a wheel for it and for this machine's CPU is built too. Debian has none.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/ignored.sh

[ $# -le 1 ] || {
    echo "usage: wheels.sh [FOLDER]" >&2
    exit 2
}
source scripts/cargo.sh
out=$(realpath -m "${1:-$target/wheels}")
make_folder "$out"
tools=$(scripts/wheel-tools.sh)
source scripts/wheel-build.sh

# Leaves nothing of an earlier version, and nothing half-built in FOLDER.
part=$(mktemp -d "$target/wheels.XXXXXX")
trap 'rm -rf "$part"' EXIT

PATH=$path:$PATH "$tools/bin/maturin" sdist --manifest-path python/Cargo.toml --out "$part"
build_wheel --out "$part"

free_threaded=${PYTHON_FREE_THREADED:-$(command -v python3.14t || true)}
if [ -n "$free_threaded" ]; then
    build_wheel --interpreter "$free_threaded" --out "$part"
else
    ignored "the wheel for free-threaded Python" "there is no python3.14t"
fi

if [ "$(uname -m)" = x86_64 ]; then
    if [ "$(id -u)" -ne 0 ]; then
        ignored "the wheel for aarch64" "the root directory it is built in takes root"
    elif [ "${WHEELS_AARCH64:-}" = made ] && ! scripts/arm64-root.sh --made > /dev/null; then
        ignored "the wheel for aarch64" "the root directory it is built in was not made: run make wheels or make test-arm64"
    else
        cargo fetch --quiet --locked
        RUSTFLAGS="$flags $(unwinder scripts/arm64.sh aarch64-linux-gnu-gcc)" \
            scripts/arm64.sh env --unset CARGO_BUILD_TARGET --unset CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER \
            PATH="$path:/usr/sbin:/usr/bin:/sbin:/bin" \
            "${build[@]}" --target aarch64-unknown-linux-gnu --interpreter python3.11 --out "$part"
    fi
fi

rm -f "$out"/squall-*.whl "$out"/squall-*.tar.gz
mv "$part"/* "$out"
ls -l "$out"
