#!/usr/bin/busybox sh
# A guest's first program: runs /script, reports how it ended, and switches the machine off.
/usr/bin/busybox --install -s /bin
export PATH=/bin:/usr/bin HOME=/tmp
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm
mount -t tmpfs shm /dev/shm
mount -t tmpfs tmp /tmp
ln -s /proc/self/fd /dev/fd
cd /tmp
sh /script < /dev/null
echo "the script ended with $?"
poweroff -f
