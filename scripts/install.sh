#!/usr/bin/env bash
# Builds squall's command and libraries and installs them below a folder:
#   install.sh PREFIX
# DESTDIR, if set, goes before PREFIX, as packages are made; LIBDIR is lib below PREFIX if not set.
# With PROFILE=test it installs what `cargo test` has built, for tests.
set -euo pipefail

if [ $# -ne 1 ] || [ "${1#/}" = "$1" ]; then
    echo "usage: install.sh PREFIX: an absolute path, as /usr/local" >&2
    exit 2
fi
cd "$(dirname "$0")/.."
prefix=${DESTDIR:-}$1
libraries=${DESTDIR:-}${LIBDIR:-$1/lib}
target=${CARGO_TARGET_DIR:-target}
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' Cargo.toml)

if [ "${PROFILE:-release}" = test ]; then
    target+=/debug
    # With the examples: then crates are built as the tests need them, which they have been.
    cargo build --quiet --profile test --workspace --all-features --lib --bins --examples
else
    target+=/release
    # The command apart from the libraries: these reach a thread's variables another way.
    cargo build --quiet --release -p squall-cli --features tools
    cargo build --quiet --release -p squall-ffi -p squall-preload -p squall-openssl
fi

install -D -m 755 "$target/squall" "$prefix/bin/squall"
"$target/squall" man "$prefix/share/man/man1"
install -d "$prefix/lib/systemd/system"
for unit in systemd/*.service; do
    sed "s|/usr/local/bin|$1/bin|" "$unit" > "$prefix/lib/systemd/system/${unit##*/}"
    chmod 644 "$prefix/lib/systemd/system/${unit##*/}"
done
install -D -m 644 "$target/libsquall_ffi.so" "$libraries/libsquall.so.$version"
ln -sf "libsquall.so.$version" "$libraries/libsquall.so.${version%%.*}"
ln -sf "libsquall.so.${version%%.*}" "$libraries/libsquall.so"
install -D -m 644 "$target/libsquall_ffi.a" "$libraries/libsquall.a"
install -d "$prefix/include" "$libraries/pkgconfig"
install -m 644 bindings/c/include/*.h "$prefix/include"
sed "s|@PREFIX@|$1|; s|@LIBDIR@|${LIBDIR:-$1/lib}|; s|@VERSION@|$version|" \
    bindings/c/squall.pc.in > "$libraries/pkgconfig/squall.pc"
chmod 644 "$libraries/pkgconfig/squall.pc"
install -D -m 644 "$target/libsquall_preload.so" "$libraries/libsquall-preload.so"
install -D -m 644 "$target/libsquall_openssl.so" "$libraries/ossl-modules/squall.so"
