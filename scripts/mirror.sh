#!/usr/bin/env bash
# Prints the mirror of Debian's archive that this machine's apt uses.
set -euo pipefail

# addresses FILTER...: of apt's sources that may be the archive's main part
addresses() {
    # shellcheck disable=SC2016 # apt's own
    LC_ALL=C apt-get indextargets --format '$(REPO_URI)' "Created-By: Packages" "Component: main" "$@" |
        sed '/^cdrom:/d'
}
mirror=$(addresses "Origin: Debian" "Label: Debian" | sed -n 1p)
# Without lists, apt does not know whose an address is, but the archive's end alike: others have other names.
[ -n "$mirror" ] || mirror=$(addresses -o APT::Get::IndexTargets::ReleaseInfo=false |
    sed -En '/\/debian(\.list)?\/?$/p' | sed -n 1p)
[ -n "$mirror" ] || {
    echo "mirror.sh: apt has no mirror of Debian among its sources: add one" >&2
    exit 1
}
echo "$mirror"
