#!/usr/bin/env bash
# Installs what the tests need: a C linker for Rust, openssl as an independent implementation,
# valgrind. Says what is missing where it may not install. Then a browser for the tests of pages, and
# QEMU, a kernel and tools for the lab's tests of virtual machines, without which all others go on.
set -euo pipefail

if ! command -v cargo > /dev/null; then
    echo "make: cargo is missing: install Rust $(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml) or later (rustup), then run make again" >&2
    exit 1
fi

# command:Debian package
wanted=(cc:gcc openssl:openssl valgrind:valgrind)
# For tests on loop devices, which take root.
[ "$(id -u)" -ne 0 ] || wanted+=(losetup:mount mkfs.ext4:e2fsprogs setpriv:util-linux)
missing=()
for pair in "${wanted[@]}"; do
    command -v "${pair%%:*}" > /dev/null || missing+=("${pair##*:}")
done

install() {
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        as_root=(sudo -n)
    fi
    if command -v apt-get > /dev/null && "${as_root[@]}" true 2> /dev/null; then
        "${as_root[@]}" apt-get update -q
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends "$@"
    else
        echo "make: missing: $*: install these packages, or run as root on Debian" >&2
        exit 1
    fi
}

[ ${#missing[@]} -eq 0 ] || install "${missing[@]}"

if ! command -v chromium > /dev/null && ! (install chromium); then
    echo "make: no chromium: pages are not looked at in a browser, which fails where CI is set" >&2
fi

if [ "$(uname -m)" = x86_64 ] && command -v apt-get > /dev/null; then
    # Built as the tests are, so that they find most of themselves built.
    lab=${CARGO_TARGET_DIR:-target}/debug/squall-lab
    build() { cargo build --quiet --profile test --workspace --all-features --bin squall-lab; }
    if ! { build && "$lab" deps --only 6.12; }; then
        echo "make: QEMU and a kernel could not be fetched: no virtual machine is tested, which fails where CI is set" >&2
    fi
fi
