//go:build linux && amd64 && !purego

package guard

import "os"

// hasVMGenID tells whether a device is bound to the kernel's vmgenid driver (Linux 5.18), which
// reseeds the kernel's RNG when the hypervisor gives the VM a new identity. The device's name depends
// on the hypervisor, so any counts; devices are links in the driver's directory, as is the module.
func hasVMGenID() bool {
	// A platform driver since Linux 6.10, an ACPI driver before.
	drivers := [...]string{"/sys/bus/platform/drivers/vmgenid", "/sys/bus/acpi/drivers/vmgenid"}
	for _, driver := range drivers {
		entries, _ := os.ReadDir(driver)
		for _, entry := range entries {
			if entry.Type()&os.ModeSymlink != 0 && entry.Name() != "module" {
				return true
			}
		}
	}
	return false
}
