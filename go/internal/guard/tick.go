//go:build linux && amd64 && !purego

package guard

import (
	"sync/atomic"
	"unsafe"

	"github.com/squall-rng/squall/go/internal/failpoint"
	"golang.org/x/sys/unix"
)

// The kernel's tick: a number that changes each time the kernel brings its clock up to date, one to
// ten milliseconds apart, and is read by one load.
//
// It bounds how long bytes wait in a buffer where notification of a VM clone is delayed: a clone that was stopped
// between two requests finds that the tick of its buffer is over. It is no clock, and nothing else
// is asked of it.
//
// Each of the vDSO's clocks begins with a count of its updates. Where is not part of the kernel's
// promised interface, so it is searched for: by the only place that shows the time of the coarse
// clock, and by what must stand before it. Without one there is no bound.

const (
	// coarseClock only moves with the tick, and no namespace shifts it.
	coarseClock = unix.CLOCK_REALTIME_COARSE
	// clockHeader is how many words come before the first of the times: count and mode, last cycles,
	// longest distance, mask, factor and shift (include/vdso/datapage.h, Linux 6.10 on).
	clockHeader = 5
	// timeAt is where the time of coarseClock is: each clock has seconds and nanoseconds, by its number.
	timeAt = clockHeader + 2*coarseClock
)

// followTick follows the tick, if it can be found and there is nothing better to follow; it looks
// for it again if it is not where it was, as after a change of the time namespace.
func (v *VDSO) followTick() {
	followed := secondPlace.Load()
	isTick := v.isData(followed)
	if failpoint.Tick.Off() || (followed != &nothing && !isTick) {
		return
	}
	if isTick {
		// A tick that comes while it is looked at makes it appear to be gone.
		if time, ok := coarseTime(); ok && isClock(followed, time) {
			return
		}
	}
	if place := v.findTick(); place != nil {
		secondPlace.CompareAndSwap(followed, place)
	}
}

// isData tells whether a place is in the vDSO's data.
func (v *VDSO) isData(place *uint64) bool {
	const dataPages = 8
	address := uintptr(unsafe.Pointer(place))
	return v.base-dataPages*PageSize <= address && address < v.base
}

func (v *VDSO) findTick() *uint64 {
	const attempts = 3 // a tick may come in the middle of a search
	for range attempts {
		time, ok := coarseTime()
		if !ok {
			return nil
		}
		if found := v.clocks(time); len(found) == 1 {
			return found[0]
		}
	}
	return nil
}

// clocks are the places that look like a clock with this time.
func (v *VDSO) clocks(time [2]uint64) []*uint64 {
	const within = 1024 // the clocks come first in their page
	var found []*uint64
	for _, page := range v.clockPages() {
		if !isReadable(page) {
			continue
		}
		for at := 0; at < within; at += 8 {
			if place := (*uint64)(unsafe.Add(page, at)); isClock(place, time) {
				found = append(found, place)
			}
		}
	}
	return found
}

// clockPages are the pages that may have the clocks. The generation tells which kernel this is: it
// shares their page up to Linux 6.14, and has one of its own later, four pages below the vDSO. There
// the clocks are six pages below, and five in a time namespace.
func (v *VDSO) clockPages() []unsafe.Pointer {
	generation := generationPlace.Load()
	if generation == &never {
		return nil
	}
	offset := int(uintptr(unsafe.Pointer(generation)) % PageSize)
	if offset == 0 {
		return []unsafe.Pointer{v.at(-6 * PageSize), v.at(-5 * PageSize)}
	}
	return []unsafe.Pointer{unsafe.Add(unsafe.Pointer(generation), -offset)}
}

// isClock tells whether a clock begins at a place, and shows the time. The place was found readable,
// with its page.
func isClock(place *uint64, time [2]uint64) bool {
	word := func(at int) uint64 {
		// SAFETY: a clock is looked for in the first kilobyte of its page, and is shorter than the rest.
		return atomic.LoadUint64((*uint64)(unsafe.Add(unsafe.Pointer(place), 8*at)))
	}
	if word(timeAt) != time[0] || word(timeAt+1) != time[1] {
		return false
	}
	updates, mode := uint32(word(0)), uint32(word(0)>>32)
	mask := word(3)
	factor, shift := uint32(word(4)), uint32(word(4)>>32)
	// The kernel's modes of clocks (enum vdso_clock_mode): none that the vDSO could read, and the largest.
	const noCycles, largestMode = 0, 3
	isCounter := mode <= largestMode && mask != 0 && mask&(mask+1) == 0 && factor != 0 && shift <= 32
	return updates%2 == 0 && (mode == noCycles || isCounter)
}

// coarseTime is the coarse clock's, by a system call of which the scheduler is not told: the goroutine
// is pinned to its P.
func coarseTime() ([2]uint64, bool) {
	var now unix.Timespec
	_, _, errno := unix.RawSyscall(unix.SYS_CLOCK_GETTIME, coarseClock, uintptr(unsafe.Pointer(&now)), 0)
	return [2]uint64{uint64(now.Sec), uint64(now.Nsec)}, errno == 0
}
