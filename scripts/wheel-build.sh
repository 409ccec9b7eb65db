# How wheels of the Python package are built. A script sources this file in the repository's root directory, after
# tools=$(scripts/wheel-tools.sh). Then `build_wheel --out FOLDER` builds the wheel for this machine's CPU; `build` is
# the command without the CPU, and `path` the folders that it needs at the beginning of PATH.
#
# zig links a wheel with the symbols of glibc 2.17 (manylinux2014). It runs on CPython 3.11 and later (abi3), or, if
# `--interpreter` names a free-threaded Python, on that version alone.
# shellcheck shell=bash disable=SC2154 # `tools`

path=$("$tools/bin/python" -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__))'):$tools/bin
build=("$tools/bin/maturin" build --manifest-path python/Cargo.toml --locked --release --zig
    --compatibility manylinux2014)

# The module does not tell where it was built.
RUSTFLAGS="${RUSTFLAGS:-} --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo"
export RUSTFLAGS="$RUSTFLAGS --remap-path-prefix=$PWD=/squall"

build_wheel() { PATH=$path:$PATH "${build[@]}" --target "$(uname -m)-unknown-linux-gnu" "$@"; }
