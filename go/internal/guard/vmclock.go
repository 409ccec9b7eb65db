//go:build linux && amd64 && !purego

package guard

import (
	"sync/atomic"
	"unsafe"

	"github.com/squall-rng/squall/go/internal/seam"
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

// vmClockPath is the device's; a test may put another file there.
var vmClockPath = "/dev/vmclock0"

func openVMClock() *vmClock {
	if seam.VMClock.Off() {
		return nil
	}
	file, err := unix.Open(vmClockPath, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(file)
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
	under := changedUnder.Load()
	return under != 0 && under == generation
}
