#!/usr/bin/env bash
# Unpacks Pythons of Debian sid, newer ones than the machine's and one of arm64, in the root directory that
# arm64-root.sh has made, and prints their folder there. They are not installed, because packages of both CPUs would
# exclude each other. They run by scripts/arm64.sh:
#
#     LD_LIBRARY_PATH=FOLDER/arm64/lib FOLDER/arm64/usr/bin/python3.14
#
# A folder that was made before is used again, unless these lists have changed.
set -euo pipefail
cd "$(dirname "$0")/.."

# Debian's name of the CPU, and versions.
pythons=(amd64:3.13 amd64:3.14 amd64:3.15 arm64:3.14)
libraries=(libbz2-1.0 libexpat1 libffi8 libgcc-s1 liblzma5 libssl3t64 libstdc++6 libuuid1 libzstd1 zlib1g)

fail() {
    echo "sid-pythons.sh: $*" >&2
    exit 1
}

root=$(scripts/arm64-root.sh --made)
folder=/pythons
list="${pythons[*]} ${libraries[*]}"
exec 9> "${root%/*}/lock"
flock 9
[ "$(cat "$root$folder/made-of" 2> /dev/null)" != "$list" ] || { echo "$folder"; exit; }

packages=()
for python in "${pythons[@]}"; do
    cpu=${python%:*} version=${python#*:}
    for package in "python$version-minimal" "libpython$version-minimal" "libpython$version-stdlib" "${libraries[@]}"; do
        packages+=("$package:$cpu")
    done
done
mapfile -t packages < <(printf '%s\n' "${packages[@]}" | sort -u)

log=${root%/*}/pythons.log
part=$folder.part
rm -rf --one-file-system "${root:?}$folder" "$root$part"
mkdir "$root$part"
# The lists of packages may be older than what the mirror has.
chroot "$root" env -C "$part" -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C bash -euc '
    apt-get -q download "$@" || { apt-get -q update && apt-get -q download "$@"; }
    for package in *.deb; do
        cpu=${package%.deb}
        dpkg-deb -x "$package" "${cpu##*_}"
    done
    rm -- *.deb
    for libraries in */usr/lib/*-linux-gnu; do ln -s "${libraries#*/}" "${libraries%%/*}/lib"; done
' inside "${packages[@]}" > "$log" 2>&1 \
    || fail "apt-get: $(grep '^E:' "$log" | tail -n 1) (all of it is in $log)"
echo "$list" > "$root$part/made-of"
mv "$root$part" "$root$folder"
echo "$folder"
