#!/usr/bin/env bash
# Runs a command in the root directory that arm64-root.sh makes, with this tree at its own path. There cargo
# builds for arm64, into target/arm64, and qemu-user runs arm64's programs:
#
#     scripts/arm64.sh cargo test -p squall --lib
#
# Crates come from cargo's cache: `cargo fetch --locked` fills it. Mounts and the registration of qemu-user
# exist only in the namespaces that the command runs in.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -gt 0 ] || {
    echo "usage: arm64.sh COMMAND..." >&2
    exit 2
}
root=$(scripts/arm64-root.sh)
cargo=${CARGO_HOME:-$HOME/.cargo}
target=$(realpath -m "${CARGO_TARGET_DIR:-target}/arm64")
mkdir -p "$target"

# A user namespace has its own registrations of programs for other CPUs (Linux 6.7). This one matches, at
# offset 0, the ELF header of a program or a shared object of 64 bits, little-endian, for machine 183.
mapfile -t kept < <(env | grep -E '^(CI|TERM|RUSTFLAGS|RUST_BACKTRACE|PROFILE|SQUALL_[A-Z_0-9]*)=')
exec env -i "${kept[@]}" PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    unshare --user --map-root-user --mount --propagation private -- bash -euc '
    root=$1 tree=$2 cargo=$3 target=$4
    shift 4
    for place in /proc /dev /sys /tmp "$tree" "$cargo" "${target%/arm64}"; do
        mkdir -p "$root$place"
        mount --rbind "$place" "$root$place"
    done
    register="mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc \
        && echo \":arm64:M::\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00:\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:/usr/bin/qemu-aarch64:F\" \
            > /proc/sys/fs/binfmt_misc/register"
    chroot "$root" bash -c "$register" || {
        echo "arm64.sh: programs of arm64 cannot be registered: that needs Linux 6.7 with binfmt_misc and user namespaces" >&2
        exit 1
    }
    arm64=aarch64-unknown-linux-gnu compiler=aarch64-linux-gnu-gcc
    exec chroot "$root" env -C "$tree" \
        HOME=/root LC_ALL=C.UTF-8 CARGO_HOME="$cargo" CARGO_NET_OFFLINE=true CARGO_TARGET_DIR="$target" \
        CARGO_BUILD_TARGET=$arm64 \
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=$compiler \
        CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="env PATH=/usr/lib/arm64-cross:$PATH" \
        CC_aarch64_unknown_linux_gnu=$compiler \
        "$@"
' unshare "$root" "$PWD" "$cargo" "$target" "$@"
