#!/usr/bin/env bash
# Builds squall's command and libraries in release mode and installs them below a folder:
#   install.sh PREFIX
# DESTDIR, if set, goes before PREFIX, as packages are made; LIBDIR is lib below PREFIX if not set.
set -euo pipefail

if [ $# -ne 1 ] || [ "${1#/}" = "$1" ]; then
    echo "usage: install.sh PREFIX: an absolute path, as /usr/local" >&2
    exit 2
fi
cd "$(dirname "$0")/.."
prefix=${DESTDIR:-}$1
libraries=${DESTDIR:-}${LIBDIR:-$1/lib}
target=${CARGO_TARGET_DIR:-target}/release
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' Cargo.toml)

# The command apart from the libraries: these reach a thread's variables another way.
cargo build --quiet --release -p squall-cli
cargo build --quiet --release -p squall-ffi -p squall-preload -p squall-openssl

install -D -m 755 "$target/squall" "$prefix/bin/squall"
install -D -m 644 "$target/libsquall_ffi.so" "$libraries/libsquall.so.$version"
ln -sf "libsquall.so.$version" "$libraries/libsquall.so.${version%%.*}"
ln -sf "libsquall.so.${version%%.*}" "$libraries/libsquall.so"
install -D -m 644 "$target/libsquall_ffi.a" "$libraries/libsquall.a"
install -D -m 644 "$target/libsquall_preload.so" "$libraries/libsquall-preload.so"
install -D -m 644 "$target/libsquall_openssl.so" "$libraries/ossl-modules/squall.so"
