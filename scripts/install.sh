#!/usr/bin/env bash
# Builds squall's command and libraries and installs them below a folder:
#   install.sh PREFIX
# DESTDIR, if set, is put before PREFIX, for packages. LIBDIR defaults to PREFIX/lib. It builds as the caller;
# SUDO, if set, is the command that copies, such as `sudo`.
# With PROFILE=test it installs the build of `cargo test`, for tests. installed.txt lists the files;
# uninstall.sh removes them.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/installed.sh
installed | check_folders
source scripts/cargo.sh

# build ARGUMENT...: `target` is then the folder in which cargo says the command is, perhaps that of another CPU.
build() {
    target=$(cargo build --message-format json-render-diagnostics "$@" |
        sed -n 's|.*"executable":"\([^"]*\)/squall".*|\1|p')
}
if [ "${PROFILE:-release}" = test ]; then
    # With the examples, the crates have the same features as in the tests, which have built them already.
    source scripts/crates.sh
    # A test passes the variables of its package on, and cargo would build the crate ring again, which asks for them.
    unset OUT_DIR "${!CARGO_PKG_@}" "${!CARGO_MANIFEST_@}"
    build --profile test "${product[@]}" --lib --bins --examples
else
    # The command is built separately, because the libraries access thread-local variables differently.
    build --release -p squall-cli --features tools
    cargo build --release -p squall-c -p squall-preload -p squall-openssl
fi

# Everything is staged in a temporary folder first, so that nothing is installed that the list lacks.
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
prefix=$stage$root
libraries=$stage$libdir

install -D -m 755 "$target/squall" "$prefix/bin/squall"
"$target/squall" man "$prefix/share/man/man1"
"$target/squall" schemas "$prefix/share/squall/schema"
install -D -m 644 cli/src/run/python/sitecustomize.py "$prefix/share/squall/python/sitecustomize.py"
completions() {
    install -D -m 644 /dev/null "$prefix/share/$2"
    "$target/squall" completions "$1" > "$prefix/share/$2"
}
completions bash bash-completion/completions/squall
completions zsh zsh/site-functions/_squall
completions fish fish/vendor_completions.d/squall.fish
install -d "$prefix/lib/systemd/system"
for unit in systemd/*.service; do
    sed "s|/usr/local/bin|$root/bin|" "$unit" > "$prefix/lib/systemd/system/${unit##*/}"
done
install -D -m 755 -t "$prefix/share/squall/clones.d" systemd/clones.d/[0-9]*
install -m 644 -t "$prefix/share/squall/clones.d" systemd/clones.d/functions.sh
install -D -m 644 "$target/libsquall_c.so" "$libraries/libsquall.so.$version"
ln -s "libsquall.so.$version" "$libraries/libsquall.so.${version%%.*}"
ln -s "libsquall.so.${version%%.*}" "$libraries/libsquall.so"
install -D -m 644 "$target/libsquall_c.a" "$libraries/libsquall.a"
install -d "$prefix/include" "$libraries/pkgconfig"
install -m 644 bindings/c/include/*.h "$prefix/include"
sed "s|@PREFIX@|$root|; s|@LIBDIR@|$libdir|; s|@VERSION@|$version|" \
    bindings/c/squall.pc.in > "$libraries/pkgconfig/squall.pc"
install -D -m 644 "$target/libsquall_preload.so" "$libraries/libsquall-preload.so"
install -D -m 644 "$target/libsquall_openssl.so" "$libraries/ossl-modules/squall.so"

if ! diff <(installed | sort) <(find "$stage" ! -type d -printf '/%P\n' | sort) >&2; then
    echo "install.sh: left: the files of scripts/installed.txt, right: the staged files" >&2
    exit 1
fi
installed | while read -r file; do
    if [ -L "$stage$file" ]; then
        change install -d "$(dirname "${DESTDIR:-}$file")"
        change ln -sfn "$(readlink "$stage$file")" "${DESTDIR:-}$file"
    else
        mode=644
        [ ! -x "$stage$file" ] || mode=755
        # A file that is the same stays: somebody may be using it.
        change install -C -D -m "$mode" "$stage$file" "${DESTDIR:-}$file"
    fi
done
update_linker_cache

below=${DESTDIR:-}$root
echo "installed: $below/bin/squall, libraries in ${DESTDIR:-}$libdir, and headers, manual pages and completions below $below"
[ -z "${DESTDIR:-}" ] || exit 0
case :$PATH: in
*:$root/bin:*) ;;
*) echo "for the command: export PATH=$root/bin:\$PATH" ;;
esac
case $libdir in
/usr/lib | /usr/local/lib) ;;
*) echo "for programs in C: export PKG_CONFIG_PATH=$libdir/pkgconfig, and link with -Wl,-rpath,$libdir" ;;
esac
