#!/usr/bin/env bash
# Fills squall-lab's cache with QEMU, Linux kernels with their headers, compilers, and programs for guests. They are
# Debian's packages: the machine's apt fetches them from its mirror, without root, and they are unpacked without being
# installed. Prints each tree's directory and version. A tree that is there stays, unless these lists have changed: to
# fetch a newer version, remove it.
#
#     scripts/lab-deps.sh                       6.1, 6.12 and newest, and what runs them: a download of 360 MB, 800 MB
#                                               in the cache, a minute
#     scripts/lab-deps.sh 6.12-arm64 uml        these kernels, and what runs them; uml is user-mode Linux
#     scripts/lab-deps.sh sandbox               Python, Node.js and Java: a download of 110 MB, 370 MB in the cache
#     scripts/lab-deps.sh kvm-clock             QEMU that emulates kvm-clock, built from Debian's source: a download of
#                                               140 MB, 3 GB while it builds, ten minutes on two CPUs
#     scripts/lab-deps.sh criu-4.1 criu-4.2 gvisor
#                                               what checkpoints processes: a download of 23 MB, 60 MB in the cache
#     scripts/lab-deps.sh cbmc                  a model checker for C: a download of 26 MB, 42 MB in the cache
set -euo pipefail
cd "$(dirname "$0")/.."

# The suite and the packages of each. The cloud variant of 6.1 has no driver for vmgenid.
declare -A kernels=(
    [6.1]="bookworm linux-image-amd64 linux-headers-amd64"
    [6.12]="bookworm-backports linux-image-cloud-amd64 linux-headers-cloud-amd64"
    [newest]="trixie-backports linux-image-cloud-amd64 linux-headers-cloud-amd64"
    [6.12-arm64]="trixie linux-image-cloud-arm64"
    [6.12-arm64-16k]="trixie linux-image-arm64-16k"
    [newest-arm64]="trixie-backports linux-image-cloud-arm64"
    [newest-arm64-16k]="trixie-backports linux-image-arm64-16k"
    [uml]="sid user-mode-linux libc6 busybox-static"
    [sandbox]="trixie python3-numpy nodejs openjdk-21-jre-headless"
    [kvm-clock]="trixie gcc coreutils dash diffutils findutils gawk grep libc6-dev libfdt-dev libglib2.0-dev meson patch \
pkgconf python3-pip sed xz-utils zlib1g-dev"
    [criu-4.1]="trixie criu"
    [criu-4.2]="sid criu"
    [gvisor]="trixie runsc"
    [cbmc]="trixie cbmc libc6 libgcc-s1 libstdc++6 minisat"
)
[ $# -gt 0 ] || set -- 6.1 6.12 newest
for kernel in "$@"; do
    [ -n "${kernels[$kernel]:-}" ] || {
        echo "lab-deps.sh: $kernel is not known: use some of $(printf '%s\n' "${!kernels[@]}" | sort | xargs)" >&2
        exit 2
    }
done
source scripts/lab-cache.sh
[ "$(uname -m)" = x86_64 ] || fail "QEMU, the programs and user-mode Linux are those for x86-64"
mirror=$PWD/scripts/mirror.sh
patch=$PWD/research/lab/qemu/kvm-clock.patch
part=$cache/part
libraries=usr/lib/x86_64-linux-gnu
# Text encodings, vectors, names of hardware, link-time optimization: half of the size, and used by nothing.
unused=("$libraries"/{gconv,libmvec.so.1} usr/lib/udev/hwdb.d usr/bin/x86_64-linux-gnu-lto-dump-{12,14}
    usr/lib/gcc/x86_64-linux-gnu/12/lto1 usr/libexec/gcc/x86_64-linux-gnu/14/lto1
    usr/lib/jvm/java-21-openjdk-amd64/lib/server/classes_nocoops.jsa)

# archive SUITE CPU [TYPE]: sets `apt`, with the lists of a release and its backports: of packages, or of sources if
# TYPE is deb-src. Releases do not mix: a package's dependencies would come from another.
archive() {
    local release=${1%-backports} cpu=$2 type=${3:-deb} keys=/usr/share/keyrings/debian-archive-keyring.gpg
    local lists=$part/$release-$cpu-$type target=Packages program address suite
    apt=(apt-get -qq -c "$lists/apt.conf" -t "$1")
    [ ! -e "$lists" ] || return 0
    for program in apt-get:apt dpkg-deb:dpkg; do
        command -v "${program%:*}" > /dev/null || fail "${program%:*} is missing: install ${program#*:}"
    done
    address=$("$mirror") || exit 1
    [ "$type" = deb ] || target=Sources
    mkdir -p "$lists/lists/partial"
    for suite in "$release" "$release-backports"; do
        [ "$suite" = sid-backports ] ||
            echo "$type [arch=$cpu signed-by=$keys target=$target lang=none] $address $suite main"
    done > "$lists/sources.list"
    # It is read after the machine's configuration, which has its proxies. No package counts as installed.
    cat > "$lists/apt.conf" << CONF
#clear APT::Architectures;
#clear APT::Update;
APT { Architecture "$cpu"; Architectures "$cpu"; Install-Recommends "false"; };
APT::Sandbox::User "root";
APT::Update::Error-Mode "any";
Acquire { Retries "1"; http { Timeout "20"; }; https { Timeout "20"; }; };
Dir::Etc { SourceList "$lists/sources.list"; SourceParts "/dev/null"; };
Dir::Etc { Preferences "/dev/null"; PreferencesParts "/dev/null"; };
Dir { State "$lists"; State::Lists "lists"; State::Status "/dev/null"; Cache "$lists"; Cache::pkgcache "pkgcache.bin"; };
CONF
    logged "the lists of $release, signed by $keys" "${apt[@]}" update
}

# tree PLACE SUITE CPU LAYOUT FILES PACKAGES [ALONE]: unless the tree at PLACE was made by the same arguments, fetches
# PACKAGES with their dependencies, and ALONE without, and unpacks them. LAYOUT moves what is kept to the new tree.
tree() {
    local place=$cache/$1 layout=$4 release='' version='' only='' package files packages alone
    if [ "$(sed -n 's/^recipe //p' "$place/record" 2> /dev/null)" != "$*" ]; then
        echo "lab-deps.sh: $1: fetching" >&2
        read -ra files <<< "$5"
        read -ra packages <<< "$6"
        read -ra alone <<< "${7:-}"
        archive "$2" "$3"
        rm -rf "$part"/{packages,versions,unpacked,tree,old}
        mkdir -p "$part"/{packages,unpacked,tree}
        cd "$part/packages"
        if [ -n "$6" ]; then
            logged "$1" "${apt[@]}" -s install "${packages[@]}"
            # Other packages are for installing a kernel.
            [ "$layout" != kernel ] || only=linux-
            mapfile -t -O "${#alone[@]}" alone < <(sed -nE "s/^Inst (${only}[^ ]*) .*/\1/p" "$log")
        fi
        logged "$1" "${apt[@]}" download "${alone[@]}"
        for package in *.deb; do
            # shellcheck disable=SC2016 # dpkg's own
            dpkg-deb -W --showformat '${Package} ${Version}\n' "$package" >> "$part/versions"
            logged "$1" dpkg-deb -x "$package" "$part/unpacked"
        done
        cd "$part/unpacked"
        "$layout"
        {
            echo "recipe $*"
            echo "version ${version:-$(sed -n "s/^${packages[0]:-${alone[0]}} //p" "$part/versions")}"
            echo "release $release"
            cat "$part/versions"
        } > "$part/tree/record"
        mkdir -p "${place%/*}"
        [ ! -e "$place" ] || mv -T "$place" "$part/old"
        mv -T "$part/tree" "$place"
    fi
    echo "$place $(sed -n 's/^version //p' "$place/record")"
}

programs() {
    rm -rf "${unused[@]}"
    cp -al --parents "${files[@]}" "$part/tree"
}

# Makes the directory a root directory, with the links that installing the packages would make, and places for devices
# and processes (objtool reads its limits there).
root() {
    ln -s usr/bin usr/lib usr/lib64 "$1"
    ln -s gawk "$1/usr/bin/awk"
    mkdir -p "$1"/{dev,proc,tmp}
}

# A root directory with places for headers, and the module that is built.
compiler() {
    programs
    root "$part/tree"
    mkdir -p "$part/tree"/{module,usr/src}
}

# QEMU for x86-64 from Debian's source, with the lab's patch. None of the packages is kept: it runs with the libraries
# and the firmware of Debian's own.
patched_qemu() {
    local user=()
    [ "$(id -u)" = 0 ] || user=(--map-root-user)
    archive trixie amd64 deb-src
    mkdir qemu
    cp "$patch" qemu/kvm-clock.patch
    (cd qemu && logged "$patch" "${apt[@]}" source --download-only qemu)
    version=$(sed -n 's/^Version: //p' qemu/*.dsc)
    root .
    logged "$patch" unshare --mount --propagation private "${user[@]}" -- sh -euc '
        mount --rbind /dev dev
        mount --rbind /proc proc
        exec chroot . /usr/bin/env -i PATH=/usr/bin LC_ALL=C.UTF-8 sh -euc "$1"' sh '
        cd /qemu
        tar -xJf *.orig.tar.xz --strip-components 1
        tar -xJf *.debian.tar.xz
        sed -n "s,^[^#],debian/patches/&,p" debian/patches/series | xargs cat kvm-clock.patch | patch -p1
        mkdir build
        cd build
        ../configure --cc=gcc --target-list=x86_64-softmmu --without-default-features --enable-system --enable-tcg \
            --enable-fdt=system --disable-install-blobs --disable-download
        ninja qemu-system-x86_64
        strip qemu-system-x86_64' 9>&-
    mkdir -p "$part/tree/usr/bin"
    mv qemu/build/qemu-system-x86_64 "$part/tree/usr/bin"
}

# Older kernels have boot/vmlinuz-RELEASE and lib/modules/RELEASE; newer ones have both in usr/lib/modules/RELEASE.
kernel() {
    local modules link
    modules=$(find . -path '*lib/modules/*/kernel' -prune -printf '%h\n')
    release=${modules##*/}
    mv "$(find . -name 'vmlinuz*' -type f)" "$part/tree/vmlinuz"
    # Modules for hardware that no machine of the lab has, which are half of a kernel not made for clouds.
    rm -rf "$modules"/kernel/{drivers/{gpu,hwmon,iio,infiniband,media,net/{ethernet,wireless},staging},sound}
    mv "$modules" "$part/tree/modules"
    [ -d usr/src ] || return 0
    # The contents of /usr/src: links lead to programs beside them. The kernel's types for BPF would need one more
    # program to build a module.
    mkdir "$part/tree/headers"
    mv usr/src/linux-headers-* usr/lib/linux-kbuild-* "$part/tree/headers"
    cd "$part/tree/headers"
    rm -rf ./*/vmlinux
    for link in linux-headers-*/{scripts,tools}; do
        [ ! -L "$link" ] || ln -sfn "$(readlink "$link" | sed 's,^../../lib/,../,')" "$link"
    done
}

# It starts itself again, so its own file names its loader.
user_mode() {
    release=$(ls usr/lib/uml/modules)
    patchelf --set-interpreter "$place/$libraries/ld-linux-x86-64.so.2" --set-rpath "$place/$libraries" usr/bin/linux.uml
    mv usr "$part/tree"
}

trap 'rm -rf "$part"' EXIT
rm -rf "$part"
# Packages may have set-user-ID programs, which no other user should reach.
mkdir -m 700 "$part"

case " $* " in *" 6.1 "* | *" 6.12 "* | *" newest "*)
    tree qemu trixie-backports amd64 programs \
        "usr/bin/qemu-system-x86_64 usr/lib usr/share/qemu usr/share/seabios" qemu-system-x86
    # The shell is not busybox's, because that prefers its own utilities. udev needs a package that creates users; the
    # one here is smaller than systemd. What is kept of util-linux needs no more packages, and of LVM only libraries.
    kept=(usr/bin/{busybox,dash,kmod,sh,ssh-keygen,udevadm} "$libraries" usr/lib64
        usr/lib/{cryptsetup,init,lsb,modprobe.d,systemd/systemd-udevd,udev}
        usr/sbin/{blkid,cryptdisks_{start,stop},cryptsetup,depmod,dmsetup,{ins,ls,rm}mod,lvm,mdadm,mkswap}
        usr/sbin/mod{info,probe})
    tree tools trixie amd64 programs "${kept[*]}" "cryptsetup-bin busybox-static cryptsetup dash dmsetup kmod \
systemd-standalone-sysusers sysvinit-utils udev" "util-linux openssh-client mdadm lvm2 libaio1t64 libdevmapper-event1.02.1 libedit2 libbsd0 libmd0 \
libsystemd0 libtinfo6"
    # libgcc is for squall's libraries.
    tree nginx trixie amd64 programs "usr/bin/openssl $libraries usr/lib64 usr/sbin/nginx" \
        "" "nginx libc6 libcrypt1 libgcc-s1 libpcre2-8-0 libssl3t64 libzstd1 openssl zlib1g"
    # Headers refuse other compilers than their kernel's: gcc 12 for Debian 12's, gcc 14 for Debian 13's.
    tree compiler trixie amd64 compiler "usr/bin usr/lib usr/lib64 usr/libexec" \
        "gcc-14 coreutils dash gawk gcc-12 grep libelf1t64 make sed"
    ;;
esac
case $* in *-arm64*)
    tree qemu-arm64 trixie-backports amd64 programs \
        "usr/bin/qemu-system-aarch64 usr/lib usr/share/qemu" qemu-system-arm
    ;;
esac
for kernel in "$@"; do
    read -r suite packages <<< "${kernels[$kernel]}"
    case $kernel in
    uml)
        command -v patchelf > /dev/null || fail "patchelf is missing: install it"
        tree uml "$suite" amd64 user_mode "" "" "$packages"
        ;;
    sandbox)
        tree sandbox "$suite" amd64 programs "etc/java-21-openjdk usr/bin/node usr/bin/python3.13 $libraries usr/lib64 \
usr/lib/jvm usr/lib/python3.13 usr/lib/python3/dist-packages/numpy usr/share/nodejs" "$packages"
        ;;
    kvm-clock)
        tree qemu-kvm-clock "$suite" amd64 patched_qemu "$(sha256sum < "$patch")" "$packages"
        ;;
    criu-*) tree "$kernel" "$suite" amd64 programs "usr/sbin/criu $libraries" "$packages" ;;
    gvisor) tree gvisor "$suite" amd64 programs usr/bin/runsc "" "$packages" ;;
    cbmc) tree cbmc "$suite" amd64 programs "usr/bin/cbmc usr/bin/goto-cc usr/bin/goto-instrument usr/lib" "" "$packages" ;;
    *-arm64*) tree "kernels/$kernel" "$suite" arm64 kernel "" "$packages" ;;
    *) tree "kernels/$kernel" "$suite" amd64 kernel "" "$packages" ;;
    esac
done
rm -f "$log"
