#!/usr/bin/env bash
# Makes a root directory of Debian sid in the cache, with Rust and C compilers for arm64, arm64's
# libraries, and qemu-user. Prints its path. A directory that was made before is used again, unless these
# lists have changed. Needs root and debootstrap, and takes minutes. With --made it makes nothing, and fails if
# there is none.
set -euo pipefail

# The compilers of the stable release are too old for the workspace.
suite=sid
packages=(
    cargo rustc gcc gcc-aarch64-linux-gnu debhelper
    libc6-dev:arm64 libstd-rust-dev:arm64 libssl-dev:arm64
    openssl:arm64 openssl-provider-legacy:arm64 perl pkgconf qemu-user
)
# Packages that are only unpacked, because they need no others, or would replace this machine's: a shell for
# guests, and what `cargo check` needs for other CPUs.
unpacked=(busybox-static:arm64 libstd-rust-dev:riscv64 libstd-rust-dev:s390x)

cache=${SQUALL_ARM64_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/squall-arm64}
root=$cache/root
list="$suite ${packages[*]} ${unpacked[*]}"

fail() {
    echo "arm64-root.sh: $*" >&2
    exit 1
}

[ "$(id -u)" -eq 0 ] || fail "making a root directory needs root: run it as root"
mkdir -p "$cache"
exec 9> "$cache/lock"
flock 9
if [ "$(cat "$root/made-of" 2> /dev/null)" = "$list" ]; then
    echo "$root"
    exit
fi
[ "${1:-}" != --made ] || fail "there is no root directory of $suite, or one of other packages"

debootstrap=$(PATH=$PATH:/usr/sbin command -v debootstrap) || fail "debootstrap is missing: install it"
mirror=$("$(dirname "$0")/mirror.sh") || exit 1

part=$cache/part
log=$cache/log
rm -rf --one-file-system "$part" "$root"
echo "arm64-root.sh: $suite into $root; this takes minutes, once" >&2
"$debootstrap" --variant=minbase "$suite" "$part" "$mirror" > "$log" 2>&1 \
    || fail "debootstrap: $(tail -n 1 "$log") (all of it is in $log)"
# As the machine's apt reaches the mirror.
apt-config dump Acquire::http Acquire::https > "$part/etc/apt/apt.conf.d/50machine"
# The lists of a mirror that is behind have expired.
echo 'Acquire::Check-Valid-Until "false";' > "$part/etc/apt/apt.conf.d/60mirror"
# No package may start a service here.
printf '#!/bin/sh\nexit 101\n' > "$part/usr/sbin/policy-rc.d"
chmod +x "$part/usr/sbin/policy-rc.d"
unshare --mount --propagation private -- bash -euc '
    mount --rbind /proc "$1/proc"
    mount --rbind /dev "$1/dev"
    root=$1 && shift
    exec chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
        LC_ALL=C bash -euc "$@"
' unshare "$part" '
    unpacked=$1 && shift
    dpkg --add-architecture arm64
    for package in $unpacked; do dpkg --add-architecture "${package#*:}"; done
    apt-get -q update
    apt-get -qy --no-install-recommends install "$@"
    cd /root
    apt-get -q download $unpacked
    for package in *.deb; do dpkg-deb -x "$package" /; done
    rm -- *.deb
    # The C compiler for tests that qemu-user runs.
    mkdir -p /usr/lib/arm64-cross
    for name in cc gcc; do ln -s /usr/bin/aarch64-linux-gnu-gcc "/usr/lib/arm64-cross/$name"; done
    ln -s /usr/bin/aarch64-linux-gnu-nm /usr/lib/arm64-cross/nm
    apt-get clean
' inside "${unpacked[*]}" "${packages[@]}" >> "$log" 2>&1 \
    || fail "apt-get: $(grep '^E:' "$log" | tail -n 1) (all of it is in $log)"
echo "$list" > "$part/made-of"
mv "$part" "$root"
echo "$root"
