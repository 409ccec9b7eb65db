#!/usr/bin/env bash
# Builds the Debian packages, installs them in a fresh Debian below a temporary folder, has them
# work there, removes them, and looks whether anything was left. Needs root, apt and debootstrap.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/ignored.sh

if [ "$(id -u)" -ne 0 ]; then
    ignored "Debian packages" "a fresh Debian takes root"
    exit
fi
for tool in debootstrap dh unshare; do
    command -v "$tool" > /dev/null || [ -x "/usr/sbin/$tool" ] || {
        missing "Debian packages" "$tool is not installed"
        exit
    }
done

# The release that this machine runs, from where its apt gets it: what is built here runs there.
release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
mirror=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $release" "Component: main" \
    "Created-By: Packages" | sed -n 1p)
[ -n "$release" ] && [ -n "$mirror" ] || {
    missing "Debian packages" "apt does not know where this system comes from"
    exit
}

work=$(mktemp -d)
# Mounts are in a namespace of their own and go with it.
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root

version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' Cargo.toml)
packaged=$(dpkg-parsechangelog -S Version)
[ "$version" = "$packaged" ] || {
    echo "deb-test.sh: Cargo.toml has version $version, debian/changelog $packaged" >&2
    exit 1
}

maintainer=$(sed -n 's/^Maintainer: //p' debian/control)
[ "$maintainer" = "$(dpkg-parsechangelog -S Maintainer)" ] || {
    echo "deb-test.sh: debian/control and debian/changelog name different maintainers" >&2
    exit 1
}
# Until there is a real address, use one that cannot exist.
case $maintainer in
*@*.invalid\>) ;;
*)
    echo "deb-test.sh: debian/control: $maintainer is not an address under .invalid" >&2
    exit 1
    ;;
esac

echo "packages: build"
scripts/deb.sh "$work/packages" > "$work/build.log" 2>&1 || { cat "$work/build.log"; exit 1; }
echo "packages: debootstrap $release"
# With what DKMS builds the kernel module from.
headers=linux-headers-$(dpkg --print-architecture)
debootstrap --variant=minbase --include="openssl,ca-certificates,dkms,$headers" "$release" "$root" "$mirror" \
    > "$work/debootstrap.log" 2>&1 || { tail -n 20 "$work/debootstrap.log"; exit 1; }
find "$work/packages" -name "*.deb" ! -name "*-dbgsym_*" -exec cp {} "$root/root/" \;
cp scripts/deb-test-inside.sh "$root/root/"
unshare --mount --propagation private -- bash -euc '
    mount -t proc proc "$1/proc"
    mount --rbind /dev "$1/dev"
    mount -t sysfs -o ro sysfs "$1/sys"
    exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin bash /root/deb-test-inside.sh
' unshare "$root"
echo "packages: installed, worked, removed, and left nothing"
