//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A clock is known by its time and what stands before it.
func TestAClockIsKnownByItsHeader(t *testing.T) {
	theTime := [2]uint64{1_700_000_000, 123_456_789}
	type words map[int]uint64
	for name, c := range map[string]struct {
		changed words
		isClock bool
	}{
		"a clock":          {words{}, true},
		"the largest mode": {words{0: 3 << 32}, true},
		"a shorter mask":   {words{3: 1<<56 - 1}, true},
		"a long shift":     {words{4: 32<<32 | 1}, true},
		// The vDSO cannot read this one's cycles, so the fields about them may be anything.
		"no cycles":         {words{0: 8, 3: 0, 4: 0}, true},
		"before Linux 6.10": {words{2: 1<<64 - 1, 3: 24<<32 | 7, 14: theTime[0], 15: theTime[1], 16: 0}, true},
		"an unknown mode":   {words{0: 4<<32 | 6}, false},
		"an update":         {words{0: 1<<32 | 7}, false},
		"one without mode":  {words{0: 7}, false},
		"no mask":           {words{3: 0}, false},
		"a mask with holes": {words{3: 6}, false},
		"no factor":         {words{4: 24 << 32}, false},
		"too long a shift":  {words{4: 33<<32 | 1}, false},
		"another second":    {words{15: theTime[0] + 1}, false},
		"another time":      {words{16: theTime[1] + 1}, false},
	} {
		// Mode and count of updates, mask, shift and factor.
		clock := [17]uint64{0: 1<<32 | 6, 3: 1<<64 - 1, 4: 24<<32 | 0x50_0000, 15: theTime[0], 16: theTime[1]}
		for at, word := range c.changed {
			clock[at] = word
		}
		if isClock(&clock[0], theTime) != c.isClock {
			t.Errorf("%s: %t", name, !c.isClock)
		}
	}
}

// The clocks are beside the kernel's generation, if that is seen.
func TestPagesOfTheClocks(t *testing.T) {
	const base, page = 0x7fff_0000_0000, 4096
	type pages = [len(clockPagesBelow)]uintptr
	for generation, want := range map[uintptr]pages{
		base - 4*page:       {base - 6*page, base - 5*page}, // Linux 6.15 on
		base - 4*page + 640: {base - 4*page},                // Linux 6.11 to 6.14
		base - page + 640:   {base - page},
	} {
		if got := clockPages(base, generation, page); got != want {
			t.Errorf("%#x: %#x", generation, got)
		}
	}
	for i, got := range clockPages(base, 0, page) {
		if got != base-clockPagesBelow[i]*page {
			t.Errorf("without a generation: %#x", got)
		}
	}
}

// foundTick is the tick's address; it skips where there is none.
func foundTick(t *testing.T) *uint64 {
	t.Helper()
	seeded(t) // finds the generation
	found := findTick()
	if found == &noTick {
		t.Skip("no tick in the vDSO's data")
	}
	return found
}

// The tick is found with and without the generation, and followed again after it was elsewhere.
func TestTheTickIsFound(t *testing.T) {
	place := foundTick(t)
	how, generation, followed := currentWatch(), generationAddress.Load(), tickAddress.Load()
	defer func() { setWatch(how, generation); tickAddress.Store(followed) }()
	setWatch(Probe, nil)
	if found := findTick(); found != place {
		t.Errorf("without the generation it is at %p, and not at %p", found, place)
	}
	elsewhere := (*uint64)(unsafe.Add(unsafe.Pointer(place), 8))
	for _, address := range []*uint64{&noTick, elsewhere, place} {
		tickAddress.Store(address)
		if FollowTick(); tickAddress.Load() != place || !FollowsTick() {
			t.Errorf("it was followed at %p, then at %p", address, tickAddress.Load())
		}
	}
}

// The tick and the tag change with the coarse clock.
func TestTheTickChangesWithTheClock(t *testing.T) {
	place := foundTick(t)
	followed := tickAddress.Load()
	defer tickAddress.Store(followed)
	tickAddress.Store(place)
	moment := func() (time [2]uint64, tick uint64, tag Tag) {
		for {
			before, _ := coarseTime()
			tick, tag = atomic.LoadUint64(place), TagUnder(5)
			if after, ok := coarseTime(); ok && after == before {
				return before, tick, tag
			}
		}
	}
	last, lastTick, lastTag := moment()
	for range 5 {
		now, tick, tag := moment()
		for ; now == last; now, tick, tag = moment() {
			time.Sleep(time.Millisecond)
		}
		if tick == lastTick || tag.Kernel == lastTag.Kernel {
			t.Errorf("the time is another one, and the tick still %#x", tick)
		}
		last, lastTick, lastTag = now, tick, tag
	}
}

// A page that cannot be read is no page of clocks, and no fault.
func TestPagesThatCannotBeReadHaveNoClock(t *testing.T) {
	base := vdsoBase
	defer func() { vdsoBase = base }()
	nowhere, err := unix.Mmap(-1, 0, 8*unix.Getpagesize(), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(nowhere)
	how, generation := currentWatch(), generationAddress.Load()
	defer setWatch(how, generation)
	setWatch(Probe, nil)
	vdsoBase = uintptr(unsafe.Pointer(&nowhere[0])) + uintptr(len(nowhere))
	if findTick() != &noTick || findKVMClock() != nil {
		t.Error("something is found where nothing can be read")
	}
}
