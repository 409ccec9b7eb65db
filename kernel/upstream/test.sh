#!/usr/bin/env bash
# Tests the patches of this directory on a tree of Linux's source, which it does not change:
#
# - They apply, and checkpatch has nothing to say but that nobody has signed them.
# - In user space, the kernel's own ChaCha20 makes the same bytes in pieces as by single blocks, and leaves no more of
#   them on the stack; without the patches it does.
# - User-mode Linux, and x86-64 and arm64 in QEMU, build, pass the KUnit tests and run init.c. User-mode Linux runs
#   init.c without the patches too, for its figures. x86-64 also passes KUnit with a CPU without SSSE3, where the
#   library has portable code only.
# - Without memory for a piece, a read gives the same bytes.
# - Each of the changes below, which are wrong, fails the KUnit tests.
#
#     kernel/upstream/test.sh SOURCE [WORK [MACHINE...]]
#
# SOURCE is an unpacked linux-source-7.3 of Debian. WORK (made, and kept if it is named) takes 1 GB, on SOURCE's file
# system if copying 1.5 GB is too much. Machines are um, x86_64 and arm64. Takes 20 minutes on two idle cores. Needs
# gcc 12 or later, libc6-dev, make, flex, bison, bc, patch, cpio, perl; for x86-64 libelf-dev and qemu-system-x86; for
# arm64 gcc-aarch64-linux-gnu and qemu-system-arm.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source "$here/../../scripts/ignored.sh"
source "$here/../linux-source.sh"
machines=${*:3}
machines=${machines:-um x86_64 arm64}
patched=$work/patched
failures=0

held() { echo "held: $*"; }
failed() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}
# expect WHAT COMMAND...: whether the command succeeds
expect() {
    local what=$1
    shift
    if "$@"; then held "$what"; else failed "$what"; fi
}

# build ARCH SOURCE OUT TARGET: says the compiler's last words if it fails
build() {
    local make=(make -s -C "$2" "O=$3" "ARCH=$1" "-j$(nproc)")
    [ "$1" != arm64 ] || make+=(CROSS_COMPILE=aarch64-linux-gnu-)
    mkdir -p "$3"
    # User-mode Linux is built without preemption and for one CPU, as Debian's is, and has no other hardware.
    if [ "$1" = um ]; then
        grep -vE 'ACPI|PCI|PREEMPT|SERIAL|SMP|VIRT|VMGENID' "$here/test.config"
    else
        cat "$here/test.config"
    fi > "$3.config"
    if ! { "${make[@]}" "KCONFIG_ALLCONFIG=$3.config" allnoconfig && "${make[@]}" "$4"; } > "$3.log" 2>&1; then
        tail -n 20 "$3.log"
        return 1
    fi
}

# boot ARCH OUT [CPU]: what the machine says
boot() {
    local words="rdinit=/init panic=-1"
    case $1 in
    um) timeout 300 "$2/linux" mem=512M con=null con0=fd:0,fd:1 "initrd=$work/um.cpio" $words ;;
    x86_64)
        timeout 900 qemu-system-x86_64 -cpu "${3:-max}" -m 512 -nographic -no-reboot -kernel "$2/arch/x86/boot/bzImage" \
            -initrd "$work/x86_64.cpio" -append "console=ttyS0 $words"
        ;;
    arm64)
        timeout 900 qemu-system-aarch64 -M virt -cpu max -m 512 -nographic -no-reboot -kernel "$2/arch/arm64/boot/Image" \
            -initrd "$work/arm64.cpio" -append "console=ttyAMA0 $words"
        ;;
    esac < /dev/null 2>&1 | tr -d '\r' || true
}

# initramfs ARCH COMPILER
initramfs() {
    mkdir -p "$work/root"
    "$2" -O2 -Wall -Wextra -static "$here/init.c" -o "$work/root/init"
    (cd "$work/root" && echo init | cpio --quiet -o -H newc) > "$work/$1.cpio"
}

passed='^# random: pass:2 fail:0 skip:0 total:2$'
# test_kernel ARCH COMPILER TARGET
test_kernel() {
    local out=$work/$1 said=$work/$1.said
    initramfs "$1" "$2"
    if ! build "$1" "$patched" "$out" "$3"; then
        failed "$1: builds"
        return
    fi
    boot "$1" "$out" > "$said"
    expect "$1: KUnit: the same bytes" grep -q "$passed" "$said"
    expect "$1: reads of /dev/urandom: init.c" grep -q '^init: all held$' "$said"
    expect "$1: no warning of the kernel" [ "$(grep -cE 'BUG:|WARNING:|Call Trace' "$said")" = 0 ]
    sed -n "s/^figure: /figure: $1, patched: /p" "$said"
}

# changed WHAT EXPRESSION RESULT: whether KUnit prints RESULT after a change of random.c
changed() {
    local file=$patched/drivers/char/random.c
    cp "$file" "$work/random.c"
    sed -i "$2" "$file"
    if cmp -s "$file" "$work/random.c"; then
        failed "$1: the change does not apply"
    elif ! build um "$patched" "$work/um" linux; then
        failed "$1: builds"
    else
        boot um "$work/um" > "$work/changed.said"
        expect "$1" grep -q "$3" "$work/changed.said"
    fi
    # With a new time, so that make builds it again.
    cat "$work/random.c" > "$file"
}
# control WHAT EXPRESSION: a change that is wrong
control() { changed "control: $1: KUnit notices" "$2" '^not ok 1 random$'; }

# left TREE: the greatest number of words that a piece leaves on the stack, of the harness's table
left() { awk 'NF == 6 && $2 ~ /^[0-9]+$/ && $6 > most { most = $6 } END { print most + 0 }' "$1"; }

# In the kernel's tree: in a repository that has the patch as a file, checkpatch would take it for a source.
checkpatch() {
    (cd "$patched" &&
        perl scripts/checkpatch.pl --no-tree --strict -q --ignore MISSING_SIGN_OFF,FILE_PATH_CHANGES "$1")
}
# is MACHINE: whether it is to be tested
is() { case " $machines " in *" $1 "*) true ;; *) false ;; esac }

rm -rf "$patched"
cp -al "$source" "$patched" 2> /dev/null || { rm -rf "$patched"; cp -a "$source" "$patched"; }
if [ "$(uname -m)" != x86_64 ]; then
    ignored "harness and user-mode Linux" "they need x86-64"
    machines=${machines/um/}
elif is um; then
    initramfs um gcc
    expect "um without the patches: builds" build um "$patched" "$work/um" linux
    boot um "$work/um" > "$work/um-before.said"
    sed -n "s/^figure: /figure: um, without the patches: /p" "$work/um-before.said"
fi
for patch in "$here"/0*.patch "$here"/random/000[1-9]*.patch; do
    name=${patch#"$here/"}
    expect "$name applies" patch -s -p1 -d "$patched" -i "$patch"
    expect "$name: checkpatch" checkpatch "$patch"
done
[ "$failures" = 0 ] || exit 1

if [ "$(uname -m)" = x86_64 ]; then
    "$here/harness/run.sh" "$source" > "$work/harness.before"
    "$here/harness/run.sh" "$patched" > "$work/harness" && same=true || same=false
    cat "$work/harness"
    expect "harness: the same bytes" $same
    # One word is what the compiler spills in chacha20_block(), today too.
    expect "harness: a piece leaves no keystream on the stack" [ "$(left "$work/harness")" -le 1 ]
    expect "control: without the patches it does" [ "$(left "$work/harness.before")" -ge 16 ]
fi
if is um; then
    test_kernel um gcc linux
    changed "um: KUnit: the same bytes without memory for a piece" 's/piece = kmalloc(.*);/piece = NULL;/' "$passed"
    library='chacha20_crypt(chacha_state, buf, buf, len);'
    control "the block counter does not carry" 's/<= U32_MAX - chacha_state->x\[12\]/<= U32_MAX/'
    control "a piece is not cleared before" '/^\t\tmemset(buf, 0, len);$/d'
    control "a bit of a piece is another" "s/^\t\t$library\$/&\n\t\tbuf[len - 1] ^= 1;/"
    control "a piece repeats the block before" "s/^\t\t$library\$/\t\t--chacha_state->x[12];\n&/"
fi
if is x86_64; then
    if command -v qemu-system-x86_64 > /dev/null && [ "$(uname -m)" = x86_64 ]; then
        test_kernel x86_64 gcc bzImage
        boot x86_64 "$work/x86_64" max,-ssse3 > "$work/x86_64-portable.said"
        expect "x86_64 without SSSE3: KUnit: the same bytes" grep -q "$passed" "$work/x86_64-portable.said"
    else
        missing x86_64 "no qemu-system-x86_64, or another machine"
    fi
fi
if is arm64; then
    if command -v qemu-system-aarch64 > /dev/null && command -v aarch64-linux-gnu-gcc > /dev/null; then
        test_kernel arm64 aarch64-linux-gnu-gcc Image
    else
        missing arm64 "no qemu-system-aarch64 or no aarch64-linux-gnu-gcc"
    fi
fi
echo "test.sh: $failures failed"
[ "$failures" = 0 ]
