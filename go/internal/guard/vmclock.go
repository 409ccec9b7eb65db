//go:build linux && amd64 && !purego

package guard

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"unsafe"

	"github.com/squall-rng/squall/go/internal/failpoint"
	"golang.org/x/sys/unix"
)

// The count of vmclock that changes before a restored VM runs again.
//
// It is the VM generation counter where the device has one, which a restore from a snapshot changes,
// and else the disruption marker, which changes when clocks are disrupted. The specification does
// not promise that a restore is such a disruption, so the marker is looked at and never relied on.
//
// The device's page is specified in Linux's include/uapi/linux/vmclock-abi.h. The count is a signal,
// never entropy: sibling clones see the same new value.

// vmClock is the device's page, which stays mapped.
type vmClock struct {
	page  unsafe.Pointer
	count *uint64
	// countsGenerations tells whether a restore must change the count.
	countsGenerations bool
}

// vmClockPath is the device's, isVMClock tells whether that is what it is; tests replace both.
var (
	vmClockPath = "/dev/vmclock0"
	isVMClock   = isVMClockDevice
	// sysfsDevices links the numbers of character devices to what sysfs knows of them.
	sysfsDevices = "/sys/dev/char"
)

func openVMClock() *vmClock {
	if failpoint.VMClock.Off() {
		return nil
	}
	// Before it is opened, as to open another device may do something, and once more what was opened.
	var status unix.Stat_t
	if unix.Stat(vmClockPath, &status) != nil || !isVMClock(&status) {
		return nil
	}
	file, err := unix.Open(vmClockPath, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(file)
	if unix.Fstat(file, &status) != nil || !isVMClock(&status) {
		return nil
	}
	page, err := unix.MmapPtr(file, 0, nil, PageSize, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil
	}
	clock := &vmClock{page: page}
	if !clock.findCount() {
		unmap(page, PageSize)
		return nil
	}
	return clock
}

// isVMClockDevice tells whether a file is the device of the kernel's vmclock driver: a miscellaneous
// character device, of which sysfs tells the driver's name for it (drivers/ptp/ptp_vmclock.c). Any other
// file could show a count that never changes, or end in SIGBUS when it is made shorter.
func isVMClockDevice(status *unix.Stat_t) bool {
	name, _ := miscName(status)
	number, isNamed := strings.CutPrefix(name, "vmclock")
	_, err := strconv.ParseUint(number, 10, 32)
	return isNamed && err == nil
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

// mayHaveVMClock tells whether there is what may be a vmclock, but cannot be looked up, as without /sys. It
// is not used, and the machine is taken for a VM.
func mayHaveVMClock() bool {
	var status unix.Stat_t
	if failpoint.VMClock.Off() || unix.Stat(vmClockPath, &status) != nil {
		return false
	}
	_, err := miscName(&status)
	return err != nil
}

// findCount finds the count; false if this is no page of vmclock.
func (c *vmClock) findCount() bool {
	const (
		magicAt, magic    = 0, 0x4b4c_4356
		sizeAt            = 4
		versionAt         = 8
		markerAt          = 16
		flagsAt           = 24
		generationAt      = 104
		flagHasGeneration = 1 << 8
	)
	word := func(at int) uint32 { return *(*uint32)(unsafe.Add(c.page, at)) }
	has := func(at int) bool { return int(word(sizeAt)) >= at+8 }
	if word(magicAt) != magic || uint16(word(versionAt)) != 1 || !has(markerAt) {
		return false
	}
	c.countsGenerations = word(flagsAt)&flagHasGeneration != 0 && has(generationAt)
	at := markerAt
	if c.countsGenerations {
		at = generationAt
	}
	c.count = (*uint64)(unsafe.Add(c.page, at))
	return true
}

// follow has the fast path look at the count.
func (c *vmClock) follow() {
	if c != nil {
		countPlace.CompareAndSwap(&nothing, c.count)
		noteCount(c.generation(), NoGeneration)
	}
}

// generation is the count plus one, so that it is 0 only where there is no vmclock.
func (c *vmClock) generation() uint64 {
	if c == nil {
		return 0
	}
	return atomic.LoadUint64(c.count) + 1
}

// After a change of the count the kernel may still give sibling clones the same bytes, until it has
// been told: until its generation moves.
var seenCount, changedUnder atomic.Uint64

// noteCount notes a count that was seen under the kernel's generation.
func noteCount(count, generation uint64) {
	if seen := seenCount.Swap(count); seen != 0 && seen != count {
		changedUnder.Store(generation)
	}
}

// isUnsettled tells whether the kernel may not have been told of a clone, under this generation.
func isUnsettled(generation uint64) bool {
	if failpoint.Settled.Off() {
		return true
	}
	under := changedUnder.Load()
	return under != 0 && under == generation
}
