//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"encoding/binary"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hasVMGenID reports whether a device is bound to the kernel's vmgenid driver (Linux 5.18), which
// reseeds the kernel's RNG when the hypervisor gives the VM a new identity. The device's name depends
// on the hypervisor, so any counts.
func hasVMGenID() bool { return slices.ContainsFunc(vmgenidDrivers[:], hasDevice) }

// vmgenidDrivers are the driver's folders: a platform driver since Linux 6.10, an ACPI driver before. A test
// replaces them.
var vmgenidDrivers = [2]string{"/sys/bus/platform/drivers/vmgenid", "/sys/bus/acpi/drivers/vmgenid"}

// hasDevice reports whether a driver's directory in sysfs has an entry for a device.
func hasDevice(driver string) bool {
	directory, err := unix.Open(driver, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(directory)
	var entries [1024]byte
	length, err := unix.ReadDirent(directory, entries[:])
	if err != nil {
		return false
	}
	_, _, names := unix.ParseDirent(entries[:length], -1, nil)
	for _, name := range names {
		switch name {
		case "bind", "unbind", "uevent", "module":
		default:
			return true
		}
	}
	return false
}

// The kernel module in `kernel/` shows vmgenid's identifier in the guest's memory. The hypervisor
// writes a new identifier before the guest continues ("Virtual Machine Generation ID", Microsoft, 2012); only the
// interrupt, which Linux waits for, comes later.

var vmgenidPage = device{
	path:    "/dev/squall-vmgenid",
	isNamed: func(name string) bool { return name == "squall-vmgenid" },
	signal:  vmgenidPageSignal,
}

func vmgenidPageSignal(file int) *cloneSignal {
	at, ok := identifierAt(file)
	if !ok {
		return nil
	}
	page := mapDevice(file)
	if page == nil {
		return nil
	}
	return &cloneSignal{
		kind:  VMGenIDPage,
		page:  page,
		first: (*uint64)(unsafe.Add(page, at)),
		last:  (*uint64)(unsafe.Add(page, at+8)),
	}
}

// identifierAt returns the offset of the identifier in the page; false if the offset is not aligned or
// outside. A read of the device gives the identifier and then that offset.
func identifierAt(file int) (int, bool) {
	const idLen = 16
	var head [idLen + 8]byte
	if length, err := unix.Pread(file, head[:], 0); err != nil || length != len(head) {
		return 0, false
	}
	at := binary.NativeEndian.Uint64(head[idLen:])
	return int(at), at%8 == 0 && at <= PageSize-idLen
}
