# For install.sh and uninstall.sh, which source it at the root of the tree with the prefix as $1.
if [ $# -ne 1 ] || [ "${1#/}" = "$1" ]; then
    echo "usage: ${0##*/} PREFIX: an absolute path such as /usr/local" >&2
    exit 2
fi
root=$(realpath -ms "$1")
root=${root%/}
libdir=${LIBDIR:-$root/lib}
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' Cargo.toml)

# Prints the absolute paths of all installed files, without DESTDIR.
installed() {
    sed "/^#/d; s|^PREFIX|$root|; s|^LIBDIR|$libdir|; s|VERSION|$version|; s|MAJOR|${version%%.*}|" \
        scripts/installed.txt
}
