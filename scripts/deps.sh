#!/usr/bin/env bash
# Installs the missing requirements of the tests. Without the right to install, it lists them.
#
#     scripts/deps.sh quick    for `make test`: a C compiler
#     scripts/deps.sh rest     for `make test-all`: C++, OpenSSL and its headers, valgrind, groff, fish, zsh; as root
#                              also tools for packages and file systems. Then optional requirements:
#                              real programs, a browser, and QEMU, user-mode Linux, kernels and tools for
#                              virtual machines.
set -euo pipefail
cd "$(dirname "$0")/.."

case ${1:-} in
quick | rest) ;;
*)
    echo "usage: deps.sh quick|rest" >&2
    exit 2
    ;;
esac

if ! command -v cargo > /dev/null; then
    echo "make: cargo is missing: install Rust $(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml) or later (rustup), then run make again" >&2
    exit 1
fi

# has NAME: whether this command or file exists.
has() {
    case $1 in
        /*) [ -e "$1" ] ;;
        *) command -v "$1" > /dev/null || [ -x "/usr/sbin/$1" ] ;;
    esac
}

# command or file:Debian package
wanted=(cc:gcc)
if [ "$1" = rest ]; then
    wanted+=(c++:g++ openssl:openssl valgrind:valgrind pkg-config:pkg-config groff:groff fish:fish zsh:zsh
        /usr/include/openssl/core.h:libssl-dev)
    # For tests on loop devices, of capabilities and of packages, which take root.
    [ "$(id -u)" -ne 0 ] || wanted+=(losetup:mount mkfs.ext4:e2fsprogs mkfs.btrfs:btrfs-progs
        setpriv:util-linux setcap:libcap2-bin dh:debhelper debootstrap:debootstrap)
fi
missing=()
for pair in "${wanted[@]}"; do
    has "${pair%%:*}" || missing+=("${pair##*:}")
done

install() {
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        as_root=(sudo -n)
    fi
    if command -v apt-get > /dev/null && "${as_root[@]}" true 2> /dev/null; then
        "${as_root[@]}" apt-get update -q
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -yq --no-install-recommends "$@"
    else
        echo "make: missing: $*: install these packages, or run as root on Debian" >&2
        exit 1
    fi
}

[ ${#missing[@]} -eq 0 ] || install "${missing[@]}"
[ "$1" = rest ] || exit 0

# While apt works, this compiles what the phase `research` tests.
if [ "$(uname -m)" = x86_64 ] && command -v apt-get > /dev/null; then
    source scripts/crates.sh
    cargo test --quiet --no-run "${research_packages[@]}" &
    compiling=$!
    trap 'kill "$compiling" 2> /dev/null || true' EXIT
fi

# Real programs that are tested with squall. A missing program's test is skipped, or fails if CI is set.
programs=()
for pair in python3:python3 ssh-keygen:openssh-client sshd:openssh-server nginx:nginx-light wrk:wrk patchelf:patchelf \
    dnsmasq:dnsmasq-base dhclient:isc-dhcp-client dhcpcd:dhcpcd-base pdftotext:poppler-utils /usr/lib/postgresql:postgresql; do
    has "${pair%%:*}" || programs+=("${pair##*:}")
done
# Debian's Python makes virtual environments, for wheels, only with this package.
python3 -c 'import ensurepip' 2> /dev/null || programs+=(python3-venv)
if [ ${#programs[@]} -ne 0 ] && ! (install "${programs[@]}"); then
    echo "make: ${programs[*]} could not be installed: their tests are skipped, or fail if CI is set" >&2
fi

if ! command -v chromium > /dev/null && ! (install chromium); then
    echo "make: chromium could not be installed: its tests and those of pages are skipped, or fail if CI is set" >&2
fi

if [ -n "${compiling:-}" ]; then
    scripts/lab-deps.sh > /dev/null ||
        echo "make: QEMU and kernels could not be fetched: tests with virtual machines are skipped, or fail if CI is set" >&2
    scripts/lab-deps.sh uml > /dev/null ||
        echo "make: tests with user-mode Linux are skipped, or fail if CI is set" >&2
    scripts/lab-deps.sh criu-4.1 criu-4.2 gvisor > /dev/null ||
        echo "make: CRIU and gVisor could not be fetched: tests with copies of processes are skipped" >&2
    wait "$compiling" || true
    trap - EXIT
fi
