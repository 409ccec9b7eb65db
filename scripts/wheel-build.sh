# How wheels of the Python package are built. A script sources this file in the repository's root directory, after
# target, cargo's folder, and tools=$(scripts/wheel-tools.sh). Then `build_wheel --out FOLDER` builds the wheel for this
# machine's CPU. For another CPU, call `build` with `--target`, with `path` at the beginning of PATH, and with `flags` and
# the output of `unwinder` in RUSTFLAGS.
#
# zig links a wheel with the symbols of glibc 2.17 (manylinux2014). It runs on CPython 3.11 and later (abi3), or, if
# `--interpreter` names a free-threaded Python, on that version alone.
# shellcheck shell=bash disable=SC2154 # `target` and `tools`

path=$("$tools/bin/python" -c 'import os, ziglang; print(os.path.dirname(ziglang.__file__))'):$tools/bin
build=("$tools/bin/maturin" build --manifest-path python/Cargo.toml --locked --release --zig
    --compatibility manylinux2014)

# The module does not tell where it was built.
flags="${RUSTFLAGS:-} --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=/cargo --remap-path-prefix=$PWD=/squall"

# unwinder COMPILER...: the flag that links the module with GCC's unwinder, libgcc_s. To end a thread, glibc unwinds
# the thread's stack with that library (pthread_exit). zig would put another unwinder into the module; Rust's part of
# the stack would then be unwound by both, and the process would crash.
unwinder() { echo "-C link-arg=$("$@" -print-file-name=libgcc_s.so.1)"; }

build_wheel() {
    local flags="$flags $(unwinder cc)"
    # maturin moves the module, so two builds would take each other's.
    PATH=$path:$PATH RUSTFLAGS=$flags flock "$target/maturin.lock" \
        "${build[@]}" --target "$(uname -m)-unknown-linux-gnu" "$@"
}

# build_native CRATE FILE CPU COMPILER [RUN...]: builds the library of a crate for a CPU by RUN, links it as a wheel's
# module is linked, and checks that it stays loaded.
build_native() {
    local crate=$1 file=$2 cpu=$3 compiler=$4 folder=$target linker variable
    shift 4
    linker=$target/link-$crate-$cpu
    # The linker that maturin gives cargo.
    printf '#!/bin/sh\nexec maturin zig cc -- -target %s-linux-gnu.2.17 "$@"\n' "$cpu" > "$linker"
    chmod +x "$linker"
    [ $# -eq 0 ] || folder=$target/arm64
    variable=CARGO_TARGET_$(tr '[:lower:]' '[:upper:]' <<< "$cpu")_UNKNOWN_LINUX_GNU_LINKER
    # shellcheck disable=SC2086
    RUSTFLAGS="$flags $(unwinder $compiler)" "$@" env "$variable=$linker" PATH="$path:$PATH" \
        cargo rustc --locked --release -p "$crate" --target "$cpu-unknown-linux-gnu" -- -C strip=symbols
    mkdir -p "${file%/*}"
    cp "$folder/$cpu-unknown-linux-gnu/release/lib${crate//-/_}.so" "$file"
    readelf --dynamic "$file" | grep -F NODELETE > /dev/null || {
        echo "error: $file could be unloaded" >&2
        return 1
    }
}
