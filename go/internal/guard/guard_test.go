//go:build linux && amd64 && !purego

package guard

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

// ownPage is a page of the test's own.
func ownPage(t *testing.T) *Page {
	t.Helper()
	pages, kind := MapPages(1)
	if kind == NoMemory {
		t.Skip("SKIP: no memory that a fork wipes")
	}
	t.Cleanup(func() { UnmapPages(pages) })
	return pages[0]
}

// seeded is a page, and the policy and generation that it was seeded under.
func seeded(t *testing.T) (*Page, *Policy, uint64) {
	t.Helper()
	page, policy := ownPage(t), ThisPolicy()
	page.BeginSeeding(policy.VM())
	generation, ok := policy.SeedFromKernel(page)
	if !ok {
		t.Fatal("the kernel gives no bytes")
	}
	page.Mark(generation)
	return page, policy, generation
}

func TestMemoryThatCannotBeReadIsFoundWithoutAFault(t *testing.T) {
	word := uint64(5)
	if !isReadable(unsafe.Pointer(&word)) {
		t.Error("a variable cannot be read")
	}
	for _, address := range []uintptr{0, 8, 1 << 63} {
		if isReadable(pointer(address)) {
			t.Errorf("%#x can be read", address)
		}
	}
}

func TestAWrongGenerationIsShownNowhere(t *testing.T) {
	_, policy, generation := seeded(t)
	if policy.vdso == nil {
		t.Skip("SKIP: no getrandom in the vDSO")
	}
	for _, place := range places {
		if shows((*uint64)(policy.vdso.at(place.offset-place.below)), generation+1_000_000) {
			t.Errorf("%+v shows what is not so", place)
		}
	}
}

// Each half of the mark is needed, and the generation that it was seeded under.
func TestAMarkIsAllOrNothing(t *testing.T) {
	page, policy, generation := seeded(t)
	epoch, ok := policy.Epoch(page)
	if !ok || !page.IsCurrent(epoch) {
		t.Fatalf("%+v is not current under %+v", page.Generation(), epoch)
	}
	if page.IsCurrent(Epoch{Kernel: generation + 1, VM: epoch.VM}) {
		t.Error("another generation is the same")
	}
	if page.IsCurrent(Epoch{Kernel: generation, VM: epoch.VM + 1}) {
		t.Error("another VM is the same")
	}
	page.witness.Store(0)
	if page.IsCurrent(epoch) {
		t.Error("a page without its witness is current")
	}
	page.witness.Store(1)
	page.generation.Store(0)
	if page.IsCurrent(epoch) {
		t.Error("a page without its generation is current")
	}
	page.lease.Store(0)
	if page.IsLeased(Moment()) {
		t.Error("an empty page is leased")
	}
}

func TestTheTickChangesWithTheCoarseClock(t *testing.T) {
	_, policy, _ := seeded(t)
	if policy.vdso == nil || watched() != Mapped {
		t.Skip("SKIP: no generation in the vDSO's data")
	}
	place := policy.vdso.findTick()
	if place == nil {
		t.Skip("SKIP: no tick")
	}
	look := func() ([2]uint64, uint64) {
		for {
			before, _ := coarseTime()
			tick := atomic.LoadUint64(place)
			if after, _ := coarseTime(); before == after {
				return before, tick
			}
		}
	}
	time0, tick0 := look()
	for range 5 {
		time.Sleep(11 * time.Millisecond)
		time1, tick1 := look()
		if time0 == time1 || tick0 == tick1 {
			t.Fatalf("clock %v, tick %d; then clock %v, tick %d", time0, tick0, time1, tick1)
		}
		time0, tick0 = time1, tick1
	}
}

// No change of the generation undoes one of the second word.
func TestMomentsDiffer(t *testing.T) {
	before := secondPlace.Load()
	defer secondPlace.Store(before)
	var second uint64
	secondPlace.Store(&second)
	seen := map[uint64]bool{}
	for generation := range uint64(64) {
		for second = range 64 {
			seen[MomentUnder(generation)] = true
		}
	}
	if len(seen) != 64*64 {
		t.Errorf("%d moments of %d", len(seen), 64*64)
	}
}

// vmclockPage is a page as include/uapi/linux/vmclock-abi.h describes it.
func vmclockPage(size uint32, flags, marker, generation uint64) []byte {
	page := make([]byte, PageSize)
	binary.LittleEndian.PutUint32(page[0:], 0x4b4c_4356)
	binary.LittleEndian.PutUint32(page[4:], size)
	binary.LittleEndian.PutUint16(page[8:], 1)
	binary.LittleEndian.PutUint64(page[16:], marker)
	binary.LittleEndian.PutUint64(page[24:], flags)
	binary.LittleEndian.PutUint64(page[104:], generation)
	return page
}

func TestVMClock(t *testing.T) {
	const hasGeneration = 1 << 8
	device := vmClockPath
	defer func() { vmClockPath = device }()
	vmClockPath = filepath.Join(t.TempDir(), "vmclock0")
	if openVMClock() != nil {
		t.Error("there is one where there is none")
	}
	wrong := vmclockPage(112, hasGeneration, 5, 7)
	wrong[0]++
	cases := []struct {
		name   string
		page   []byte
		counts bool
		count  uint64
	}{
		{"with a counter", vmclockPage(112, hasGeneration, 5, 7), true, 8},
		{"with a marker only", vmclockPage(104, 0, 5, 7), false, 6},
		{"too short for its counter", vmclockPage(104, hasGeneration, 5, 7), false, 6},
		{"another's magic", wrong, false, 0},
	}
	for _, c := range cases {
		if err := os.WriteFile(vmClockPath, c.page, 0o600); err != nil {
			t.Fatal(err)
		}
		clock := openVMClock()
		if clock.generation() != c.count || (clock != nil && clock.countsGenerations != c.counts) {
			t.Errorf("%s: %+v", c.name, clock)
		}
		if clock == nil {
			continue
		}
		file, err := os.OpenFile(vmClockPath, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		file.WriteAt([]byte{100}, 104)
		file.WriteAt([]byte{100}, 16)
		file.Close()
		if clock.generation() != 101 {
			t.Errorf("%s: a change is not seen: %d", c.name, clock.generation())
		}
	}
}

// A change of the count is unsettled until the kernel's generation moves.
func TestAChangedCountIsUnsettled(t *testing.T) {
	defer func() { seenCount.Store(0); changedUnder.Store(0) }()
	noteCount(5, 10)
	if isUnsettled(10) {
		t.Error("a first look is no change")
	}
	noteCount(6, 10)
	if !isUnsettled(10) || isUnsettled(11) {
		t.Error("a change is unsettled under its generation, and no other")
	}
}

// Whoever is pinned has its P alone: no other goroutine runs on it meanwhile.
func TestPinned(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var others atomic.Uint64
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				return
			default:
				others.Add(1)
				runtime.Gosched()
			}
		}
	}()
	defer close(stop)
	runtime.Gosched()
	Pin()
	before := others.Load()
	for began := time.Now(); time.Since(began) < 50*time.Millisecond; {
	}
	during := others.Load() - before
	Unpin()
	for began := time.Now(); time.Since(began) < 50*time.Millisecond; {
	}
	if during != 0 {
		t.Errorf("another goroutine ran %d times on a pinned P", during)
	}
	if others.Load() == before {
		t.Error("the other goroutine never runs: this shows nothing")
	}
}
