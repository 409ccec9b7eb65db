#!/bin/sh
# Starts udev: it makes the files and links of the devices that are there, and from then on of those
# that come.
set -e

mkdir -p /run/udev/rules.d
# Debian's rules know no serial numbers of drives of user-mode Linux.
echo 'KERNEL=="ubd*[!0-9]", ATTR{serial}=="?*", SYMLINK+="disk/by-id/ubd-$attr{serial}"' \
    >/run/udev/rules.d/61-ubd.rules
/usr/lib/systemd/systemd-udevd --daemon
unset DM_DISABLE_UDEV
udevadm trigger --action=add
udevadm settle
