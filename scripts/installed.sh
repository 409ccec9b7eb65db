# For install.sh and uninstall.sh, which source it at the root of the tree with the prefix as $1.
refuse() {
    echo "${0##*/}: $*" >&2
    exit 2
}
[ $# -eq 1 ] || refuse "usage: ${0##*/} PREFIX: an absolute path such as /usr/local"

# check NAME PATH
check() {
    case $2 in
    *[[:space:]\"\'\\\|\&%\$\;\#]*)
        [ "$1" = DESTDIR ] || refuse "$1 is '$2': systemd's units and squall.pc name it, and cannot if it has" \
            "blanks, quotes or any of \\ | & % \$ ; #"
        ;;&
    /*) ;;
    *) refuse "$1 is '$2': it must be an absolute path such as /usr/local, without ~" ;;
    esac
}
check PREFIX "$1"
root=$(realpath -ms "$1")
root=${root%/}
libdir=${LIBDIR:-$root/lib}
check LIBDIR "$libdir"
check DESTDIR "${DESTDIR:-/}"
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' Cargo.toml)

# Prints the absolute paths of all installed files, without DESTDIR.
installed() {
    sed "/^#/d; s|^PREFIX|$root|; s|^LIBDIR|$libdir|; s|VERSION|$version|; s|MAJOR|${version%%.*}|" \
        scripts/installed.txt
}

# Runs a command on the installed files, by SUDO if that is set.
# shellcheck disable=SC2086 # SUDO may have arguments
change() { ${SUDO:-} "$@" < /dev/null; }

# Reads paths of installed files, and ends the script if one of their folders cannot be changed.
check_folders() {
    change true || exit
    sed 's|/[^/]*$||' | sort -u | while read -r folder; do
        folder=${DESTDIR:-}$folder
        until change test -e "$folder"; do folder=$(dirname "$folder"); done
        change test -d "$folder" -a -w "$folder" || refuse "$folder is not a folder that you can write to:" \
            "SUDO=sudo copies and removes as root, and PREFIX=$HOME/.local is yours"
    done
}

# Has programs find the libraries, if they are where the linker looks.
update_linker_cache() {
    case ${DESTDIR:-}$root in
    /usr | /usr/local) [ "$(change id -u)" -ne 0 ] || change ldconfig ;;
    esac
}
