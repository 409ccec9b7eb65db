//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"sync/atomic"

	"github.com/squall-rng/squall/go/internal/failpoint"
)

// The freshness tag, which the fast path compares before bytes leave: the kernel's generation and, where
// there is one, the signal of clones.

var (
	// never reads as a generation that no state was seeded under.
	never uint64
	// nothing reads as the signal where there is none.
	nothing uint64

	generationPlace atomic.Pointer[uint64]
	signalFirst     atomic.Pointer[uint64]
	signalLast      atomic.Pointer[uint64]
)

func init() {
	generationPlace.Store(&never)
	signalFirst.Store(&nothing)
	signalLast.Store(&nothing)
}

// frozen is what every generation appears to be while a test has switched their comparison off.
const frozen = 1

// mappedGeneration is the kernel's current generation where it is mapped, else 0, which no state was
// seeded under.
func mappedGeneration() uint64 {
	generation := atomic.LoadUint64(generationPlace.Load())
	if failpoint.GenerationCheck.Off() && generation != 0 {
		return frozen
	}
	return generation
}

// Tag is the freshness tag now. It changes with the kernel's generation and with the signal of clones.
func Tag() uint64 { return TagUnder(mappedGeneration()) }

// TagUnder is the same, with this for the kernel's generation.
//
// Generations and counts change in their lower halves, and a folded count stands in both: so no change of one
// undoes the other's.
func TagUnder(generation uint64) uint64 {
	return generation ^ folded(atomic.LoadUint64(signalFirst.Load()), atomic.LoadUint64(signalLast.Load()))
}

func readGenerationAt(place *uint64) {
	if place == nil {
		place = &never
	}
	generationPlace.Store(place)
}
