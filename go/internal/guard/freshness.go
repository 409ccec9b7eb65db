//go:build linux && amd64 && !purego

package guard

import (
	"math/bits"
	"sync/atomic"

	"github.com/squall-rng/squall/go/internal/failpoint"
)

// The freshness tag, which the fast path compares before bytes leave: the kernel's generation, and the
// word that tells more of clones on this machine, vmclock's count or the kernel's tick.

var (
	// never reads as a generation that no state was seeded under.
	never uint64
	// nothing reads as a word that never changes.
	nothing uint64

	generationPlace atomic.Pointer[uint64]
	secondPlace     atomic.Pointer[uint64]
)

func init() {
	generationPlace.Store(&never)
	secondPlace.Store(&nothing)
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

// Tag is the freshness tag now. It changes with the kernel's generation and with the second word, where they are followed.
func Tag() uint64 { return TagUnder(mappedGeneration()) }

// TagUnder is the same, with this for the kernel's generation.
//
// Both words count in their lower halves, so one half is for each: no change of one undoes the
// other's.
func TagUnder(generation uint64) uint64 {
	second := atomic.LoadUint64(secondPlace.Load())
	return generation ^ bits.RotateLeft64(second, 32)
}

func readGenerationAt(place *uint64) {
	if place == nil {
		place = &never
	}
	generationPlace.Store(place)
}
