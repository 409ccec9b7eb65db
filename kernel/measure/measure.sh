#!/usr/bin/env bash
# Measures /dev/squall beside /dev/urandom and /dev/zero on this CPU, without loading a module into this machine's
# kernel: builds user-mode Linux and the modules from a tree of Linux's source, which it does not change, and boots it.
#
#     kernel/measure/measure.sh SOURCE [WORK]
#
# SOURCE is an unpacked linux-source-7.3 of Debian, or a newer one; WORK keeps what is built, so that a second run takes
# seconds. The first takes minutes. Needs gcc 11 or later, libc6-dev, make, flex, bison, bc, cpio.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../linux-source.sh"
um() { make -s -C "$source" ARCH=um "O=$work/um" "$@" > "$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }; }

mkdir -p "$work"/{um,modules/measure,root/dev}
if ! cmp -s "$here/config" "$work/config"; then
    um KCONFIG_ALLCONFIG="$here/config" allnoconfig
    um "-j$(nproc)"
    cp "$here/config" "$work/config"
fi
cp "$here"/../{Kbuild,squall*.[ch]} "$work/modules"
cp "$here"/{Kbuild,squall_measure.c} "$work/modules/measure"
# The page is of no use there: user-mode Linux has no firmware.
sed -i '/squall_vmgenid.o/d' "$work/modules/Kbuild"
um M="$work/modules" modules
um M="$work/modules/measure" modules
cp "$work"/modules/{squall.ko,measure/squall_measure.ko} "$work/root"
gcc -O2 -Wall -Wextra -Werror -static -o "$work/root/init" "$here/init.c"
(cd "$work/root" && find . | cpio -o -H newc --quiet) > "$work/initramfs"
timeout 300 "$work/um/linux" initrd="$work/initramfs" rdinit=/init mem=256M seccomp=on con=null con0=null,fd:1 ssl=null \
    < /dev/null 2> "$work/errors" | tr -d '\r' | sed -n 's/^\[[^]]*\] squall/squall/; /^squall\|^.dev.*MB/p'
