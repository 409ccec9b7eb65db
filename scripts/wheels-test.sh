#!/usr/bin/env bash
# Builds the Python package and tries what wheels.sh made: each file by itself in a fresh environment, with the
# machine's Python and, where the root directory of arm64-root.sh exists, with newer ones and with arm64's.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/ignored.sh
source scripts/module-check.sh

say() { echo "wheels: $*"; }

fail() {
    echo "error: wheels-test.sh: $*" >&2
    exit 1
}

tools=$(scripts/wheel-tools.sh) || {
    missing "Python's wheels" "what builds them cannot be had"
    exit
}
tools=$tools/bin
source scripts/cargo.sh
wheels=$target/wheels
WHEELS_AARCH64=made scripts/wheels.sh "$wheels"

version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' Cargo.toml)
# wheel_for CPU: its path. The name has the version, the Python and the glibc that it is for.
wheel_for() { echo "$wheels/squall-$version-cp311-abi3-manylinux2014_$1.manylinux_2_17_$1.whl"; }
sdist=$wheels/squall-$version.tar.gz

# Where the root directory has it too.
work=$(mktemp -d "$target/wheels-test.XXXXXX")
trap 'rm -rf "$work"' EXIT
# Of NumPy: no threads, which a fork would not have.
export OPENBLAS_NUM_THREADS=1 PIP_DISABLE_PIP_VERSION_CHECK=1

# try PYTHON...: whether the installed package works; the command is at the place of PYTHON.
try() { env -C "$work" "$@" "$PWD/scripts/wheels-test-inside.py" "$version" "$PWD/drbg/vectors/stream.json"; }

# files PYTHON: the files that the package installed, but for pip's notes.
files() {
    "$1" -c 'import importlib.metadata as m; print(*sorted(map(str, m.files("squall"))), sep="\n")' |
        grep -vE '\.pyc$|/(INSTALLER|REQUESTED|direct_url\.json)$'
}

# check_wheel CPU: what the wheel contains and needs.
check_wheel() {
    local wheel module listed=$work/listed
    wheel=$(wheel_for "$1")
    [ -f "$wheel" ] || fail "there is no $wheel"
    "$tools/python" -m zipfile -l "$wheel" > "$listed"
    for license in LICENSE-MIT LICENSE-APACHE; do
        grep -q "/licenses/$license " "$listed" || fail "$wheel lacks $license"
    done
    # As auditwheel sees it, no symbol is newer than the name says, and no library is missing.
    "$tools/auditwheel" show "$wheel" | tr '\n' ' ' | grep -q "consistent with the following platform tag: \"manylinux_2_17_$1\"" \
        || fail "$("$tools/auditwheel" show "$wheel")"
    "$tools/python" -m zipfile -e "$wheel" "$work/$1"
    module=$work/$1/squall/_squall.abi3.so
    check_module "$module"
    say "$1: $(stat -c %s "$wheel") bytes, of them $(stat -c %s "$module") bytes of code unpacked"
}

# try_in_root CPU DEBIANS_CPU VERSION: the wheel, by itself and with NumPy, in a Python in the root directory.
try_in_root() {
    local site=$work/$1-$3 libc
    local python=("$PWD/scripts/arm64.sh" env "LD_LIBRARY_PATH=$pythons/$2/lib" "PYTHONPATH=$site" OPENBLAS_NUM_THREADS=1
        "$pythons/$2/usr/bin/python$3")
    # pip would ask whether what is installed is for the Python that runs pip.
    local install=("$tools/pip" install --quiet --target "$site" --only-binary :all: --ignore-requires-python
        --python-version "$3")
    for libc in manylinux2014 manylinux_2_17 manylinux_2_27 manylinux_2_28; do install+=(--platform "${libc}_$1"); done
    "${install[@]}" --no-index "$(wheel_for "$1")"
    try "${python[@]}"
    if "${install[@]}" numpy; then
        try "${python[@]}"
    else
        missing "the wheel with NumPy in Python $3 on $1" "NumPy cannot be had"
    fi
}

"$tools/twine" check --strict "$wheels"/*
check_wheel "$(uname -m)"

say "the wheel in a fresh environment"
python3 -m venv "$work/wheel"
"$work/wheel/bin/pip" install --quiet --no-index "$(wheel_for "$(uname -m)")"
try "$work/wheel/bin/python"
if "$work/wheel/bin/pip" install --quiet numpy; then
    try "$work/wheel/bin/python"
else
    missing "the wheel with NumPy" "NumPy cannot be had"
fi
"$work/wheel/bin/pip" check

say "the source distribution in a fresh environment"
if "$tools/pip" download --quiet --no-deps --dest "$work/maturin" "$(sed -n 's/^requires = \["\(.*\)"\]/\1/p' python/pyproject.toml)"; then
    python3 -m venv "$work/sdist"
    # In a new folder, because all files of a source distribution have the same time, by which cargo would not notice
    # changes. To save time it is not optimised, so pip must not keep the wheel.
    CARGO_TARGET_DIR=$work/target CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
        "$work/sdist/bin/pip" install --quiet --no-cache-dir "$sdist"
    try "$work/sdist/bin/python"
    "$work/sdist/bin/pip" check
    diff <(files "$work/wheel/bin/python") <(files "$work/sdist/bin/python") \
        || fail "the wheel and the source distribution install different files"
else
    missing "the source distribution" "maturin, which builds it, cannot be had"
fi

if [ "$(uname -m)" != x86_64 ]; then
    ignored "the wheel in Pythons of Debian sid" "they are made for x86-64"
elif [ "$(id -u)" -ne 0 ] || ! scripts/arm64-root.sh --made > /dev/null 2>&1; then
    ignored "the wheel in Python 3.13 to 3.15, and on aarch64" "they run in a root directory that make wheels or make test-arm64 makes, as root"
elif ! pythons=$(scripts/sid-pythons.sh); then
    missing "the wheel in Python 3.13 to 3.15, and on aarch64" "Pythons of Debian sid cannot be had"
else
    say "the wheels in Pythons of Debian sid"
    for python in 3.13 3.14 3.15; do try_in_root x86_64 amd64 "$python"; done
    check_wheel aarch64
    try_in_root aarch64 arm64 3.14
fi
