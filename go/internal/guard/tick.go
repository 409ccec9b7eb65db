//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"sync/atomic"
	"unsafe"

	"github.com/squall-rng/squall/go/internal/failpoint"
	"golang.org/x/sys/unix"
)

// The kernel's tick: a number that changes each time the kernel updates its clock, one to ten milliseconds apart.
//
// A process cannot be frozen, written to files and restored twice within one tick (CRIU, gVisor). So no buffer and no
// state is used in a later tick before it has taken the cycle counter and random words as additional input: two copies
// of a process then differ. The tick is not used as a clock.
//
// Each of the vDSO's clocks begins with a count of its updates. Its address is not part of the kernel's promised
// interface, so it is searched for: for the only place that shows the time of the coarse clock, preceded by a plausible
// header. If none is found, every request gets a pad.

const (
	// coarseClock moves only with the tick, and no time namespace shifts it.
	coarseClock = unix.CLOCK_REALTIME_COARSE
	// clockHeader is the number of words before the first of the times: count and mode, last cycles, longest distance,
	// mask, factor and shift (include/vdso/datapage.h in Linux). Before Linux 6.10 there is no longest distance.
	clockHeader, oldClockHeader = 5, 4
)

// tickAddress is where the tick is followed, or that of noTick.
var tickAddress atomic.Pointer[uint64]

// noTick is read if the tick is not followed.
var noTick uint64

func init() { tickAddress.Store(&noTick) }

// FollowsTick reports whether the tick is followed.
func FollowsTick() bool { return tickAddress.Load() != &noTick }

// FollowTick follows the tick if it can be found; it searches again if the tick has moved, as after a change of the
// time namespace. The caller may be pinned.
func FollowTick() {
	if FollowsTick() {
		if time, ok := coarseTime(); ok && isClock(tickAddress.Load(), time) {
			return
		}
	}
	tickAddress.Store(findTick())
}

// findTick returns the tick's address, or that of noTick.
func findTick() *uint64 {
	const attempts = 3 // a tick may come in the middle of a search
	for range attempts {
		time, ok := coarseTime()
		if !ok || vdsoBase == 0 || failpoint.HideTick.IsActive() {
			break
		}
		if place := theClock(time); place != nil {
			return place
		}
	}
	return &noTick
}

// theClock returns the only place that looks like a clock with this time; nil if there is none, or more than one.
func theClock(time [2]uint64) (found *uint64) {
	const within = 1024 // the clocks come first in their page
	for _, page := range clockPages(vdsoBase, watchedGeneration(), uintptr(unix.Getpagesize())) {
		if page == 0 || !isReadable(pointer(page)) {
			continue
		}
		for at := uintptr(0); at < within; at += 8 {
			place := (*uint64)(pointer(page + at))
			switch {
			case !isClock(place, time):
			case found != nil:
				return nil
			default:
				found = place
			}
		}
	}
	return found
}

// clockPages returns the pages that may have the clocks, and zeros. From Linux 6.15 on, the generation has a page of its
// own, two above the clocks', or one in a time namespace. Before, they share a page. generation is 0 if it is not seen.
func clockPages(base, generation, page uintptr) (pages [len(clockPagesBelow)]uintptr) {
	switch {
	case generation == 0:
		for i, below := range clockPagesBelow {
			pages[i] = base - below*page
		}
	case generation%page == 0:
		pages[0], pages[1] = generation-2*page, generation-page
	default:
		pages[0] = generation - generation%page
	}
	return pages
}

// isClock reports whether a clock begins at a place, and shows the time. The place was found readable, with its page.
func isClock(place *uint64, time [2]uint64) bool {
	return isClockAfter(clockHeader, place, time) || isClockAfter(oldClockHeader, place, time)
}

func isClockAfter(header int, place *uint64, time [2]uint64) bool {
	word := func(at int) uint64 {
		// SAFETY: a clock is searched for in the first kilobyte of its page, and is shorter than the rest.
		return atomic.LoadUint64((*uint64)(unsafe.Add(unsafe.Pointer(place), 8*at)))
	}
	// Each clock has seconds and nanoseconds, by its number.
	at := header + 2*coarseClock
	if word(at) != time[0] || word(at+1) != time[1] {
		return false
	}
	updates, mode := uint32(word(0)), uint32(word(0)>>32)
	mask := word(header - 2)
	factor, shift := uint32(word(header-1)), uint32(word(header-1)>>32)
	// The kernel's clock modes (enum vdso_clock_mode): one that the vDSO cannot read, and the largest.
	const noCycles, largestMode = 0, 3
	isCounter := mode <= largestMode && mask != 0 && mask&(mask+1) == 0 && factor != 0 && shift <= 32
	return updates%2 == 0 && (mode == noCycles || isCounter)
}

// coarseTime returns the coarse clock's time, by a system call that the scheduler is not notified of.
func coarseTime() ([2]uint64, bool) {
	var now unix.Timespec
	_, _, errno := unix.RawSyscall(unix.SYS_CLOCK_GETTIME, coarseClock, uintptr(unsafe.Pointer(&now)), 0)
	return [2]uint64{uint64(now.Sec), uint64(now.Nsec)}, errno == 0
}
