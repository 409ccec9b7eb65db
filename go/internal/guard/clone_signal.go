//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"math/bits"
	"slices"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/squall-rng/squall/go/internal/failpoint"
)

// The signal of clones is a value in this VM's memory that changes before a restored VM runs again:
// vmclock's count, or vmgenid's identifier. It is never entropy: sibling clones may see the same new value.

// device is a device of the kernel that shows a signal in a page.
type device struct {
	// path is where the device is; a test replaces it.
	path string
	// isNamed reports whether the device's driver gives it this name.
	isNamed func(name string) bool
	// signal returns the signal that the open device shows; nil if it shows none.
	signal func(file int) *cloneSignal
}

// devices lists them, the most preferred first.
var devices = []*device{&vmClock, &vmgenidPage}

// cloneSignal is a mapped page with the signal in it. The page is read-only, and stays mapped.
type cloneSignal struct {
	device *device
	// guard is what the status calls it; "" if not every restore of this VM changes the signal, which is then
	// checked and never relied on.
	guard string
	page  unsafe.Pointer
	// first and last are the signal's words, and equal if there is only one.
	first, last *uint64
}

// openCloneSignal opens the best signal that this process may read: the first that every restore changes, or else
// the first that is only checked; nil if there is none.
func openCloneSignal() *cloneSignal {
	if failpoint.HideCloneSignal.IsActive() {
		return nil
	}
	var additional *cloneSignal
	for _, device := range devices {
		signal := device.open()
		switch {
		case signal.isImmediate():
			if additional != nil {
				unmap(additional.page, PageSize)
			}
			return signal
		case signal != nil && additional == nil:
			additional = signal
		case signal != nil:
			unmap(signal.page, PageSize)
		}
	}
	return additional
}

func (d *device) open() *cloneSignal {
	file, ok := openDevice(d.path, d.isNamed)
	if !ok {
		return nil
	}
	defer unix.Close(file)
	signal := d.signal(file)
	if signal != nil {
		signal.device = d
	}
	return signal
}

// mayHaveCloneSignal reports whether there is a device that may have a signal but cannot be identified, for
// example without /sys. The device is not used, and the machine counts as a VM.
func mayHaveCloneSignal() bool {
	isUnidentified := func(d *device) bool { return isUnidentified(d.path) }
	return !failpoint.HideCloneSignal.IsActive() && slices.ContainsFunc(devices, isUnidentified)
}

// isOf reports whether this is the device's signal.
func (s *cloneSignal) isOf(device *device) bool { return s != nil && s.device == device }

// isImmediate reports whether every restore of this VM changes the signal before the VM runs.
func (s *cloneSignal) isImmediate() bool { return s != nil && s.guard != "" }

// watch makes the fast path compare the signal.
func (s *cloneSignal) watch() {
	if s != nil {
		signalFirst.CompareAndSwap(&noSignal, s.first)
		signalLast.CompareAndSwap(&noSignal, s.last)
		// The first value is no change; later values are recorded with their generation.
		lastSignal.CompareAndSwap(0, s.value())
	}
}

// value returns the signal's value plus one, so that it is 0 only without a signal. Its words are aligned,
// so no word is read half-changed, and they change only while the VM is stopped.
func (s *cloneSignal) value() uint64 {
	if s == nil {
		return 0
	}
	return fold(atomic.LoadUint64(s.first), atomic.LoadUint64(s.last)) + 1
}

// fold combines a signal's two words into one. A count, which is the only word, appears in both halves.
// Different identifiers of vmgenid, which are random, fold to the same word once in 2^64.
func fold(first, last uint64) uint64 { return bits.RotateLeft64(first, 32) ^ last }

// After a change of the signal the kernel may still give sibling clones the same bytes, until it has
// reseeded, which changes its generation.
var lastSignal, changedAtGeneration atomic.Uint64

// recordSignal records a value of the signal that was read under this generation of the kernel's RNG.
func recordSignal(value, generation uint64) {
	if seen := lastSignal.Load(); seen != 0 && seen != value {
		changedAtGeneration.Store(generation)
	}
	// Stored last: a reader of the value also reads the generation under which it changed.
	lastSignal.Store(value)
}

// isReseedPending reports whether the kernel, under this generation, may not yet have reseeded after a clone.
func isReseedPending(generation uint64) bool {
	if failpoint.PretendReseedPending.IsActive() {
		return true
	}
	under := changedAtGeneration.Load()
	return under != 0 && under == generation
}
