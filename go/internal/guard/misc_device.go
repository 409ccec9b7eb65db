//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Opens and maps the miscellaneous devices that show a signal of clones. Only the kernel's device is
// accepted: any other file could show words that never change, or raise SIGBUS when it is truncated.

// isDevice reports whether a file is a miscellaneous device with an expected name; a test replaces it.
var isDevice = isMiscDevice

// sysfsDevices is the folder with sysfs's links for the numbers of character devices; a test replaces it.
var sysfsDevices = "/sys/dev/char"

// openDevice opens the device at a path for reading, if its driver gave it the expected name.
func openDevice(path string, isExpectedName func(name string) bool) (int, bool) {
	// The file is checked before the call, because opening another device may have effects, and again after it.
	var status unix.Stat_t
	if unix.Stat(path, &status) != nil || !isDevice(&status, isExpectedName) {
		return 0, false
	}
	file, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0, false
	}
	if unix.Fstat(file, &status) != nil || !isDevice(&status, isExpectedName) {
		unix.Close(file)
		return 0, false
	}
	return file, true
}

// mapDevice maps the page of an open device; nil if it cannot be mapped.
func mapDevice(file int) unsafe.Pointer {
	page, err := unix.MmapPtr(file, 0, nil, PageSize, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil
	}
	return page
}

func isMiscDevice(status *unix.Stat_t, isExpectedName func(name string) bool) bool {
	name, err := miscName(status)
	return err == nil && isExpectedName(name)
}

// isUnidentified reports whether there is a miscellaneous device at a path that cannot be looked up.
func isUnidentified(path string) bool {
	var status unix.Stat_t
	if unix.Stat(path, &status) != nil {
		return false
	}
	_, err := miscName(&status)
	return err != nil
}

// miscName returns the name that a miscellaneous device got from its driver, or an error if it cannot be
// looked up; an empty name for other files.
func miscName(status *unix.Stat_t) (string, error) {
	const miscMajor = 10
	if status.Mode&unix.S_IFMT != unix.S_IFCHR || unix.Major(status.Rdev) != miscMajor {
		return "", nil
	}
	device, err := os.Readlink(fmt.Sprintf("%s/%d:%d", sysfsDevices, miscMajor, unix.Minor(status.Rdev)))
	if err != nil {
		return "", err
	}
	return filepath.Base(device), nil
}
