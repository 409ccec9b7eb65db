//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The page that a device of Linux shows, of those that change before a restored VM runs again. Only the
// kernel's device is accepted: any other file could show words that never change, or end in SIGBUS when
// it is made shorter.

// isDevice tells whether a file is the miscellaneous device whose name is right; a test replaces it.
var isDevice = isMiscDevice

// sysfsDevices links the numbers of character devices to what sysfs knows of them; a test puts others there.
var sysfsDevices = "/sys/dev/char"

// openDevice opens the device at a path for reading, if the name that its driver gave it is right.
func openDevice(path string, isRight func(name string) bool) (int, bool) {
	// Before it is opened, as to open another device may do something, and once more what was opened.
	var status unix.Stat_t
	if unix.Stat(path, &status) != nil || !isDevice(&status, isRight) {
		return 0, false
	}
	file, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0, false
	}
	if unix.Fstat(file, &status) != nil || !isDevice(&status, isRight) {
		unix.Close(file)
		return 0, false
	}
	return file, true
}

// mapDevice maps the page that an open device shows; nil if it shows none.
func mapDevice(file int) unsafe.Pointer {
	page, err := unix.MmapPtr(file, 0, nil, PageSize, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil
	}
	return page
}

func isMiscDevice(status *unix.Stat_t, isRight func(name string) bool) bool {
	name, err := miscName(status)
	return err == nil && isRight(name)
}

// isUnidentified tells whether there is a miscellaneous device at a path that cannot be looked up.
func isUnidentified(path string) bool {
	var status unix.Stat_t
	if unix.Stat(path, &status) != nil {
		return false
	}
	_, err := miscName(&status)
	return err != nil
}

// miscName is the name that a miscellaneous device was given by its driver, or why it cannot be looked up;
// none for other files.
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
