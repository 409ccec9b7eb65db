# How the wheels of the Python package are built. To be sourced in the repository's root directory, with the
# environment of wheel-tools.sh as `tools`: then `build_wheel --out FOLDER` builds the one for this machine's CPU.
# shellcheck shell=bash disable=SC2154 # `tools`
#
# A wheel runs on CPython 3.11 and later (abi3) with glibc 2.17 and later (manylinux2014): zig links it with that
# version's symbols.

path=$("$tools/bin/python" -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__))'):$tools/bin
build=("$tools/bin/maturin" build --manifest-path python/Cargo.toml --locked --release --zig
    --compatibility manylinux2014)

# The module does not tell where it was built.
export RUSTFLAGS="${RUSTFLAGS:-} --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo --remap-path-prefix=$PWD=/squall"

build_wheel() { PATH=$path:$PATH "${build[@]}" --target "$(uname -m)-unknown-linux-gnu" "$@"; }
