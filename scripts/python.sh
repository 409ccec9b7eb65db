#!/usr/bin/env bash
# Tests squall for Python: builds the wheel and runs python/tests with the newest NumPy, then those of NumPy with
# the oldest one that squall supports and with the first of its second series, and those of its default generators with
# the oldest one whose generators squall replaces. Test environments are in target/python.
# The programs that build the wheel are in target/wheel-tools and need a python3 of 3.11 or later, also if PYTHON names
# another. What cannot run here is ignored with the reason.
#
#     scripts/python.sh                      with python3
#     PYTHON=python3.14 scripts/python.sh    with another one, also a free-threaded one, python3.14t
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/ignored.sh

source scripts/cargo.sh
python=${PYTHON:-python3}
export PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1

# is_before MINOR: whether this is a Python before 3.MINOR.
is_before() { "$python" -c "import sys; sys.exit(sys.version_info >= (3, $1))"; }

if ! command -v "$python" > /dev/null || is_before 11; then
    ignored "squall for Python" "there is no Python 3.11 or later"
    exit
fi
flags=$("$python" -c 'import sys; print(sys.abiflags)')
if [[ $flags = *t* ]] && is_before 14; then
    ignored "squall for free-threaded Python" "PyO3 needs 3.14 for it"
    exit
fi
if ! "$python" -c "import ensurepip, venv" 2> /dev/null; then
    missing "squall for Python" "python3-venv is not installed"
    exit
fi

here=$target/python/$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')$flags

# has ENVIRONMENT PACKAGE...: whether the virtual environment, which is made if there is none, has the packages, or
# gets them.
has() {
    local environment=$here/$1 log=$here/$1.log
    shift
    echo "python: pip installs or looks for $* in $environment" >&2
    [ -x "$environment/bin/pip" ] || "$python" -m venv "$environment"
    "$environment/bin/pip" install --quiet --only-binary :all: "$@" > "$log" 2>&1
}

# test_with ENVIRONMENT TEST...: installs the wheel there, and runs these tests.
test_with() {
    local environment=$here/$1
    shift
    "$environment/bin/pip" install --quiet --no-index --no-deps --force-reinstall "$here"/wheels/*.whl
    "$environment/bin/python" -c 'import numpy, sys; print(f"python: Python {sys.version.split()[0]}, NumPy {numpy.__version__}")'
    # -P: the extension module is in the wheel alone, not in this folder.
    env -C python "$environment/bin/python" -P -m pytest --quiet "$@"
}

mkdir -p "$here"
if ! tools=$(scripts/wheel-tools.sh); then
    missing "squall for Python" "maturin and zig, which build its wheel, could not be installed"
    exit
fi
if ! has newest --upgrade numpy pytest && ! has newest numpy pytest; then
    missing "squall for Python" "NumPy or pytest could not be installed"
    exit
fi
# Tests that need one of these are ignored without it.
for package in cffi cryptography "dask[array]" distributed mypy numba nvidia-cuda-nvrtc-cu12; do
    has newest "$package" || echo "python: $package could not be installed" >&2
done

rm -rf "$here/wheels"
source scripts/wheel-build.sh
build_wheel --interpreter "$here/newest/bin/python" --out "$here/wheels"

status=0
test_with newest || status=1
for version in 1.26 2.0; do
    if ! is_before 13; then
        ignored "NumPy $version" "it has no wheel for Python 3.13 or later"
    elif has "numpy-$version" "numpy==$version.*" pytest cffi; then
        # The rest does not depend on the version: Numba is not for all of them, and some have no signatures.
        test_with "numpy-$version" tests/with_numpy -k "not numba and not sizes_place" || status=1
    else
        missing "NumPy $version" "it could not be installed" || status=1
    fi
done
if ! is_before 12; then
    ignored "NumPy 1.24" "it has no wheel for Python 3.12 or later"
elif has numpy-1.24 "numpy==1.24.*" pytest cffi; then
    # It has neither `spawn` nor `seed_seq`.
    test_with numpy-1.24 tests/with_numpy/test_numpy_defaults.py -k "not spawned and not numpys_classes" || status=1
else
    missing "NumPy 1.24" "it could not be installed" || status=1
fi
exit "$status"
