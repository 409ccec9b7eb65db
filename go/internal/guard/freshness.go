//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"sync/atomic"

	"github.com/squall-rng/squall/go/internal/failpoint"
)

// The freshness tag, which the fast path compares before bytes leave, combines the kernel's generation
// and, if there is one, the signal of clones.

var (
	// unmappedGeneration is read if no generation is mapped: no state was seeded under it.
	unmappedGeneration uint64
	// noSignal is read if there is no signal.
	noSignal uint64

	generationAddress atomic.Pointer[uint64]
	signalFirst       atomic.Pointer[uint64]
	signalLast        atomic.Pointer[uint64]
)

func init() {
	generationAddress.Store(&unmappedGeneration)
	signalFirst.Store(&noSignal)
	signalLast.Store(&noSignal)
}

// frozen replaces every generation while a test has turned the comparison off.
const frozen = 1

// mappedGeneration returns the kernel's current generation if it is mapped, else 0, under which no state
// was seeded.
func mappedGeneration() uint64 {
	generation := atomic.LoadUint64(generationAddress.Load())
	if failpoint.FreezeGeneration.IsActive() && generation != 0 {
		return frozen
	}
	return generation
}

// Tag returns the current freshness tag. It changes with the kernel's generation and with the signal of clones.
func Tag() uint64 { return TagUnder(mappedGeneration()) }

// TagUnder returns the freshness tag for this generation and the current signal.
//
// Generations and counts change in their lower halves, and a folded count appears in both halves, so no change of one
// undoes a change of the other.
func TagUnder(generation uint64) uint64 {
	return generation ^ fold(atomic.LoadUint64(signalFirst.Load()), atomic.LoadUint64(signalLast.Load()))
}

func setGenerationAddress(address *uint64) {
	if address == nil {
		address = &unmappedGeneration
	}
	generationAddress.Store(address)
}
