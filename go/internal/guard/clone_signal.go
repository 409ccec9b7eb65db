//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/squall-rng/squall/go/internal/failpoint"
)

// What changes in this VM's memory before a restored VM runs again: vmclock's count, or vmgenid's
// identifier. It is a signal, never entropy: sibling clones may see the same new value.

type signalKind int

const (
	// vmClock is vmclock's VM generation counter.
	vmClock signalKind = iota
	// disruptionMarker is vmclock's other count, which changes when clocks are disrupted. The specification
	// does not promise that a restore is such a disruption, so it is checked and never relied on.
	disruptionMarker
	// vmgenidPage is vmgenid's identifier, in the page that squall's kernel module shows.
	vmgenidPage
)

// cloneSignal is a mapped page with the signal in it. The page is read-only, and stays mapped.
type cloneSignal struct {
	kind signalKind
	page unsafe.Pointer
	// first and last are the signal's words, and the same where there is only one.
	first, last *uint64
}

// openCloneSignal opens the machine's best signal, of those that this process may read.
func openCloneSignal() *cloneSignal {
	if failpoint.CloneSignal.Off() {
		return nil
	}
	clock := openVMClock()
	if clock.isReliedOn() {
		return clock
	}
	page := openVMGenIDPage()
	if page == nil {
		return clock
	}
	if clock != nil {
		unmap(clock.page, PageSize)
	}
	return page
}

// mayHaveCloneSignal tells whether there is a device that may be one of them but cannot be identified, as
// without /sys. It is not used, and the machine is taken for a VM.
func mayHaveCloneSignal() bool {
	return !failpoint.CloneSignal.Off() && (isUnidentified(vmClockPath) || isUnidentified(vmgenidPagePath))
}

// is tells whether the signal is of this kind.
func (s *cloneSignal) is(kind signalKind) bool { return s != nil && s.kind == kind }

// isReliedOn tells whether every restore of this VM changes the signal.
func (s *cloneSignal) isReliedOn() bool { return s.is(vmClock) || s.is(vmgenidPage) }

// follow has the fast path look at the signal.
func (s *cloneSignal) follow() {
	if s != nil {
		signalFirst.CompareAndSwap(&nothing, s.first)
		signalLast.CompareAndSwap(&nothing, s.last)
		// The first value is no change, and a later one is noted with the generation it is seen under.
		seenSignal.CompareAndSwap(0, s.value())
	}
}

// value is the signal's value plus one, so that it is 0 only where there is none. Its words are aligned, so
// none is seen half-changed, and they change while the VM stands still.
func (s *cloneSignal) value() uint64 {
	if s == nil {
		return 0
	}
	return folded(atomic.LoadUint64(s.first), atomic.LoadUint64(s.last)) + 1
}

// folded is a signal's two words as one. A count, which is the only word, comes to stand in both halves.
// Different identifiers of vmgenid, which are random, fold to the same word once in 2^64.
func folded(first, last uint64) uint64 { return bits.RotateLeft64(first, 32) ^ last }

// After a change of the signal the kernel may still give sibling clones the same bytes, until it has
// been told: until its generation moves.
var seenSignal, changedUnder atomic.Uint64

// noteSignal notes a value that was seen under the kernel's generation.
func noteSignal(value, generation uint64) {
	if seen := seenSignal.Load(); seen != 0 && seen != value {
		changedUnder.Store(generation)
	}
	// Whoever sees the value sees under which generation it changed.
	seenSignal.Store(value)
}

// isUnsettled tells whether the kernel may not have been told of a clone, under this generation.
func isUnsettled(generation uint64) bool {
	if failpoint.Settled.Off() {
		return true
	}
	under := changedUnder.Load()
	return under != 0 && under == generation
}
