#!/usr/bin/env bash
# Builds Linux 6.12 for arm64 with pages of 64 KiB into squall-lab's cache. Debian has no such kernel as a package,
# but its source, which apt fetches. Takes minutes and 3 GB while it builds. A kernel that was built before with
# the same options stays. Needs no root, but the programs that it names if they are missing.
set -euo pipefail
cd "$(dirname "$0")/.."

source scripts/lab-cache.sh
source=linux-source-6.12
options=$PWD/scripts/arm64-kernel-64k.config
place=$cache/kernels/6.12-arm64-64k

# command:Debian package
for pair in aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu gcc:gcc make:make flex:flex bison:bison bc:bc \
    perl:perl xz:xz-utils dpkg-deb:dpkg apt-get:apt; do
    command -v "${pair%%:*}" > /dev/null || fail "${pair%%:*} is missing: install ${pair##*:}"
done

if [ -e "$place/record" ] && cmp -s "$options" "$place/options"; then
    exit
fi
work=$(mktemp -d "$cache/kernel-64k.XXXXXX")
trap 'rm -rf "$work"' EXIT

echo "arm64-kernel-64k.sh: $source into $place; this takes minutes, once" >&2
(cd "$work" && logged "apt-get download $source" apt-get -q download "$source")
package=("$work"/*.deb)
version=$(dpkg-deb -f "${package[0]}" Version)
dpkg-deb --fsys-tarfile "${package[0]}" | tar -xO "./usr/src/$source.tar.xz" | tar -xJC "$work"
rm -- "${package[0]}"

kernel() {
    make -C "$work/$source" "O=$work/build" ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu- LOCALVERSION=-64k "$@" 9>&-
}
logged configuration kernel KCONFIG_ALLCONFIG="$options" allnoconfig
# An option whose requirements are off would be off silently.
grep '^CONFIG_' "$options" | while read -r option; do
    grep -qxF "$option" "$work/build/.config" || fail "this source has no $option"
done
logged compiler kernel "-j$(nproc)" Image.gz

tree=$work/tree
mkdir -p "$tree/modules" "${place%/*}"
mv "$work/build/arch/arm64/boot/Image.gz" "$tree/vmlinuz"
cp "$options" "$tree/options"
printf '%s\n' "version $version" "release $(cat "$work/build/include/config/kernel.release")" > "$tree/record"
rm -rf "$place"
mv "$tree" "$place"
rm -f "$log"
