//go:build linux && amd64 && !purego

package guard

import (
	"math/bits"
	"sync/atomic"

	"github.com/squall-rng/squall/go/internal/failpoint"
)

// The freshness tag, which the fast path compares before bytes leave: the kernel's generation, and where
// there is a vmclock its count.

var (
	// never reads as a generation that no state was seeded under.
	never uint64
	// nothing reads as the count where there is no vmclock.
	nothing uint64

	generationPlace atomic.Pointer[uint64]
	countPlace      atomic.Pointer[uint64]
)

func init() {
	generationPlace.Store(&never)
	countPlace.Store(&nothing)
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

// Tag is the freshness tag now. It changes with the kernel's generation and with vmclock's count.
func Tag() uint64 { return TagUnder(mappedGeneration()) }

// TagUnder is the same, with this for the kernel's generation.
//
// Both words count in their lower halves, so one half is for each: no change of one undoes the
// other's.
func TagUnder(generation uint64) uint64 {
	count := atomic.LoadUint64(countPlace.Load())
	return generation ^ bits.RotateLeft64(count, 32)
}

func readGenerationAt(place *uint64) {
	if place == nil {
		place = &never
	}
	generationPlace.Store(place)
}
