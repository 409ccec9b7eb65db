#!/bin/sh
# Starts udev: it makes the files and links of the devices that are there, and from then on of those
# that come.
set -e

mkdir -p /run/udev
/usr/lib/systemd/systemd-udevd --daemon
unset DM_DISABLE_UDEV
udevadm trigger --action=add
udevadm settle
