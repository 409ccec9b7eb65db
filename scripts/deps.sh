#!/usr/bin/env bash
# Installs what the tests need: a C linker for Rust, openssl as an independent implementation,
# valgrind. Says what is missing where it may not install.
set -euo pipefail

if ! command -v cargo > /dev/null; then
    echo "make: cargo is missing: install Rust $(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml) or later (rustup), then run make again" >&2
    exit 1
fi

# command:Debian package
wanted=(cc:gcc openssl:openssl valgrind:valgrind)
missing=()
for pair in "${wanted[@]}"; do
    command -v "${pair%%:*}" > /dev/null || missing+=("${pair##*:}")
done
[ ${#missing[@]} -eq 0 ] && exit 0

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    as_root=(sudo -n)
fi
if command -v apt-get > /dev/null && "${as_root[@]}" true 2> /dev/null; then
    "${as_root[@]}" apt-get update -q
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends "${missing[@]}"
else
    echo "make: missing: ${missing[*]}: install these packages, or run as root on Debian" >&2
    exit 1
fi
