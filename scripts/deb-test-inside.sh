#!/usr/bin/env bash
# The part of deb-test.sh that runs within the fresh Debian.
set -euo pipefail

# Lists the system's files, except those that any installation and removal changes.
inventory() {
    find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /root \
        -o -path /var/log -o -path /var/cache -o -path /var/lib/apt -o -path /var/lib/dpkg \
        -o -path '/var/lib/dkms/mok.*' \) \
        -prune -o -printf '%p %y %m %u %s %l\n' | grep -v '^/etc/ld.so.cache ' | sort
}

# prints TEXT COMMAND...: checks that the command succeeds and that its output contains TEXT.
prints() {
    local wanted=$1 output
    shift
    output=$("$@" 2>&1) || { echo "$*: $output" >&2; return 1; }
    [[ $output == *"$wanted"* ]] || { echo "$*: no \"$wanted\" in: $output" >&2; return 1; }
    echo "packages: $*"
}

# check_drawn INTERFACE FILE: checks that squall served requests by this interface.
check_drawn() {
    prints "\"interface\": \"$1\"" squall status --json --counters "$2"
    squall status --json --counters "$2" | tr -d ' \n' \
        | grep -q "\"interface\":\"$1\",\"requests\":[1-9]" || { squall status --counters "$2" >&2; return 1; }
}

# Headers have no index of modules; the first module that is installed creates one, which remains.
kernel=$(basename "$(dirname /lib/modules/*/build)")
depmod "$kernel"

inventory > /tmp/before
dpkg -i /root/*.deb > /dev/null
prints "squall " squall --version
prints Protection squall status
[ "$(squall stream --size 1000 | wc -c)" -eq 1000 ]

draws='open F, "<:unix", "/dev/urandom"; sysread F, $b, 20; print length $b'
prints 20 squall run --counters /tmp/preloaded -- perl -e "$draws"
check_drawn device /tmp/preloaded

squall openssl-conf > /tmp/squall.cnf
if squall openssl-conf --check > /dev/null 2>&1; then
    echo "openssl-conf --check succeeds although OPENSSL_CONF is not set" >&2
    exit 1
fi
export OPENSSL_CONF=/tmp/squall.cnf
prints SQUALL squall openssl-conf --check
prints "" squall run --counters /tmp/provided -- openssl rand -hex 32
check_drawn openssl /tmp/provided
unset OPENSSL_CONF

[ "$(readlink -f /usr/lib/*/libsquall.so)" = "$(readlink -f /usr/lib/*/libsquall.so.0)" ]
[ -f /usr/include/squall.h ] && [ -f /usr/share/man/man1/squall.1.gz ] \
    && [ -f /usr/share/man/man1/squall-run.1.gz ]
[ -f /usr/share/bash-completion/completions/squall ] \
    && [ -f /usr/share/zsh/vendor-completions/_squall ] \
    && [ -f /usr/share/fish/vendor_completions.d/squall.fish ]
[ -f /usr/share/squall/schema/wipe-report.schema.json ] && [ -x /usr/share/squall/clones.d/20-machine-id ]
grep -q '^ExecStart=/usr/bin/squall seed$' /usr/lib/systemd/system/squall-seed.service
# No unit is enabled. Links as `systemctl enable` makes them go with the package.
[ -z "$(find /etc/systemd -name '*squall*')" ]
for link in sysinit.target.wants/squall-seed multi-user.target.wants/squall-clones; do
    mkdir -p "/etc/systemd/system/${link%/*}"
    ln -s "/lib/systemd/system/${link##*/}.service" "/etc/systemd/system/$link.service"
done

# DKMS knows the modules, and builds them for the kernel whose headers are here.
version=$(dpkg-query -W -f '${Version}' squall-vmgenid-dkms)
prints "squall-vmgenid/$version" dkms status
prints "" dkms build -m squall-vmgenid -v "$version" -k "$kernel"
for name in squall_vmgenid squall; do
    module=$(find "/var/lib/dkms/squall-vmgenid/$version/$kernel" -name "$name.ko*")
    prints "vermagic:       $kernel " modinfo "$module"
    grep -qx $name /usr/lib/modules-load.d/squall-vmgenid.conf
done
grep -q 'MODE="0444"' /usr/lib/udev/rules.d/60-squall-vmgenid.rules

dpkg --purge squall-vmgenid-dkms squall squall-preload openssl-provider-squall libsquall-dev libsquall0 > /dev/null
rm -f /tmp/squall.cnf
inventory > /tmp/after
diff /tmp/before /tmp/after
