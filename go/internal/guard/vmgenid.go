//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"slices"

	"golang.org/x/sys/unix"
)

// hasVMGenID reports whether a device is bound to the kernel's vmgenid driver (Linux 5.18), which
// reseeds the kernel's RNG when the hypervisor gives the VM a new identity. The device's name depends
// on the hypervisor, so any counts.
func hasVMGenID() bool { return slices.ContainsFunc(vmgenidDrivers, hasDevice) }

// vmgenidDrivers are the driver's folders: a platform driver since Linux 6.10, an ACPI driver before. A test
// replaces them.
var vmgenidDrivers = []string{"/sys/bus/platform/drivers/vmgenid", "/sys/bus/acpi/drivers/vmgenid"}

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
