#!/usr/bin/env bash
# What deb-test.sh does within the fresh Debian.
set -euo pipefail

# What the system has, but for what installing and removing anything changes.
inventory() {
    find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /root \
        -o -path /var/log -o -path /var/cache -o -path /var/lib/apt -o -path /var/lib/dpkg \
        -o -path '/var/lib/dkms/mok.*' \) \
        -prune -o -printf '%p %y %m %u %s %l\n' | grep -v '^/etc/ld.so.cache ' | sort
}

# says TEXT COMMAND...: the command succeeds and what it says has TEXT in it.
says() {
    local wanted=$1 said
    shift
    said=$("$@" 2>&1) || { echo "$*: $said" >&2; return 1; }
    [[ $said == *"$wanted"* ]] || { echo "$*: no \"$wanted\" in: $said" >&2; return 1; }
    echo "packages: $*"
}

# drawn DOOR FILE: squall served requests by this door.
drawn() {
    says "\"door\": \"$1\"" squall status --json --counters "$2"
    squall status --json --counters "$2" | tr -d ' \n' \
        | grep -q "\"door\":\"$1\",\"requests\":[1-9]" || { squall status --counters "$2" >&2; return 1; }
}

# Headers have no index of modules; the first module that is installed makes one, which stays.
kernel=$(basename "$(dirname /lib/modules/*/build)")
depmod "$kernel"

inventory > /tmp/before
dpkg -i /root/*.deb > /dev/null
says "squall " squall --version
says Protection squall status
[ "$(squall stream --size 1000 | wc -c)" -eq 1000 ]

draws='open F, "<:unix", "/dev/urandom"; sysread F, $b, 20; print length $b'
says 20 squall run --counters /tmp/preloaded -- perl -e "$draws"
drawn device /tmp/preloaded

squall openssl-conf > /tmp/squall.cnf
if squall openssl-conf --check > /dev/null 2>&1; then
    echo "openssl-conf: it is in use although nobody said so" >&2
    exit 1
fi
export OPENSSL_CONF=/tmp/squall.cnf
says SQUALL squall openssl-conf --check
says "" squall run --counters /tmp/provided -- openssl rand -hex 32
drawn openssl /tmp/provided
unset OPENSSL_CONF

[ "$(readlink -f /usr/lib/*/libsquall.so)" = "$(readlink -f /usr/lib/*/libsquall.so.0)" ]
[ -f /usr/include/squall.h ] && [ -f /usr/share/man/man1/squall.1.gz ] \
    && [ -f /usr/share/man/man1/squall-run.1.gz ]
[ -f /usr/share/bash-completion/completions/squall ] \
    && [ -f /usr/share/zsh/vendor-completions/_squall ] \
    && [ -f /usr/share/fish/vendor_completions.d/squall.fish ]
grep -q '^ExecStart=/usr/bin/squall seed$' /usr/lib/systemd/system/squall-seed.service

# DKMS knows the module, and builds it for the kernel whose headers are here.
version=$(dpkg-query -W -f '${Version}' squall-vmgenid-dkms)
says "squall-vmgenid/$version" dkms status
says "" dkms build -m squall-vmgenid -v "$version" -k "$kernel"
module=$(find "/var/lib/dkms/squall-vmgenid/$version/$kernel" -name 'squall_vmgenid.ko*')
says "vermagic:       $kernel " modinfo "$module"
grep -qx squall_vmgenid /usr/lib/modules-load.d/squall-vmgenid.conf
grep -q 'MODE="0444"' /usr/lib/udev/rules.d/60-squall-vmgenid.rules

dpkg --purge squall-vmgenid-dkms squall squall-preload openssl-provider-squall libsquall-dev libsquall0 > /dev/null
rm -f /tmp/squall.cnf
inventory > /tmp/after
diff /tmp/before /tmp/after
