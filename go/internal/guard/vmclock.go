//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"strconv"
	"strings"
	"unsafe"
)

// vmclock has a count that changes before a restored VM runs again: the VM generation counter if the device
// has one, otherwise the disruption marker. Linux's include/uapi/linux/vmclock-abi.h specifies the page.

var vmClock = device{path: "/dev/vmclock0", isNamed: isVMClockName, signal: vmClockSignal}

func vmClockSignal(file int) *cloneSignal {
	page := mapDevice(file)
	if page == nil {
		return nil
	}
	signal := findCount(page)
	if signal == nil {
		unmap(page, PageSize)
	}
	return signal
}

// isVMClockName reports whether the driver (drivers/ptp/ptp_vmclock.c) gives a device this name.
func isVMClockName(name string) bool {
	number, isNamed := strings.CutPrefix(name, "vmclock")
	_, err := strconv.ParseUint(number, 10, 32)
	return isNamed && err == nil
}

// findCount finds the count; nil if the page is not vmclock's.
func findCount(page unsafe.Pointer) *cloneSignal {
	const (
		magicAt, magic    = 0, 0x4b4c_4356
		sizeAt            = 4
		versionAt         = 8
		markerAt          = 16
		flagsAt           = 24
		generationAt      = 104
		flagHasGeneration = 1 << 8
	)
	word := func(at int) uint32 { return *(*uint32)(unsafe.Add(page, at)) }
	has := func(at int) bool { return int(word(sizeAt)) >= at+8 }
	if word(magicAt) != magic || uint16(word(versionAt)) != 1 || !has(markerAt) {
		return nil
	}
	// The specification does not promise that a restore disrupts the clocks.
	kind, at := NoSignal, markerAt
	if word(flagsAt)&flagHasGeneration != 0 && has(generationAt) {
		kind, at = VMClock, generationAt
	}
	count := (*uint64)(unsafe.Add(page, at))
	return &cloneSignal{kind: kind, page: page, first: count, last: count}
}
