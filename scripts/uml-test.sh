#!/usr/bin/env bash
# Runs squall's commands under a kernel that lacks what others have: user-mode Linux, whose vDSO has neither getcpu nor
# getrandom; then without a vDSO and without /proc/sys.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/ignored.sh

what="squall under user-mode Linux"
[ "$(uname -m)" = x86_64 ] || {
    ignored "$what" "it is made for x86-64"
    exit
}
cache=$(scripts/lab-deps.sh uml 2>&1) || {
    missing "$what" "${cache##*$'\n'}"
    exit
}
cache=${cache##*$'\n'}
cache=${cache% *}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
guest=$work/guest
DESTDIR=$guest PROFILE=test scripts/install.sh /usr
mkdir "$guest"/{bin,dev,proc,sys,tmp}
cp "$(find "$cache" -path '*/bin/busybox')" "$guest/bin"
ldd "$guest/usr/bin/squall" | grep -o '/[^ ]*' | xargs cp --dereference --parents --target-directory "$guest"
cp "$(find "$cache/usr/lib/uml/modules" -name 'brd.ko*')" "$guest/brd.ko"

cat > "$guest/test" << 'END'
insmod /brd.ko rd_nr=1 rd_size=16384
cd /tmp
squall --help
for command in bench blank clones completions dmcrypt "dmcrypt bench" "dmcrypt list" drives openssl-conf run \
    seed status stream verify wipe; do
    squall $command --help > /dev/null
done
squall status
squall drives
squall seed
squall stream --size 1MiB | cmp -n 1048576 - /dev/zero && exit 1
squall run -- squall stream --size 1MiB > random
dd if=/dev/zero of=/dev/ram0 bs=1M count=16
squall blank /dev/ram0
squall wipe --yes --keep-key --serial diskseq-1 --report report /dev/ram0
squall verify report/*.json
END
cat > "$guest/init" << 'END'
#!/bin/busybox sh
export PATH=/usr/bin:/bin TERM=dumb
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs tmp /tmp
if grep -q vdso=0 /proc/cmdline; then mount -t tmpfs none /proc/sys; fi
sh -eux /test 2>&1 && echo "all commands ran"
poweroff -f
END
chmod +x "$guest/init"

for vdso in 1 0; do
    # The guest's memory is a file in TMPDIR.
    TMPDIR=/dev/shm timeout 300 "$cache/usr/bin/linux.uml" mem=256M rootfstype=hostfs "rootflags=$guest" rw \
        init=/init con=null con0=fd:0,fd:1 quiet "vdso=$vdso" "uml_dir=$work" < /dev/null > "$work/log" 2>&1 || true
    grep -q '^all commands ran' "$work/log" || {
        cat "$work/log"
        echo "uml-test.sh: a command failed with vdso=$vdso" >&2
        exit 1
    }
    echo "uml: all commands ran with vdso=$vdso"
done
