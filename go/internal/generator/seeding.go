//go:build linux && (amd64 || arm64) && !purego

package generator

import (
	"time"
	"unsafe"

	"github.com/squall-rng/squall/go/internal/aes256"
	"github.com/squall-rng/squall/go/internal/failpoint"
	"github.com/squall-rng/squall/go/internal/guard"
)

// maxSeedAge is the maximal age of a seed if the kernel's generation cannot be read: the interval of the kernel's own reseeds (CRNG_RESEED_INTERVAL, drivers/char/random.c).
const maxSeedAge = 60 * time.Second

// seed seeds the page's generator and records the epoch of the seed; false if the kernel gives no bytes.
//
// The epoch consists of the generation that the vDSO recorded for the bytes it gave, and the signal of
// clones from before: any later change makes the page stale. The seed is 48 bytes of the kernel's RNG as
// entropy input, with 48 of the CPU's as additional input: two cycle counts and 256 bits of its random
// instruction. The old state is an input too.
func (r *request) seed() bool {
	if allShards.Load().kind == guard.WipeOnFork {
		r.page.Lock()
	}
	old, vm := r.page.VM(), r.policy.VM()
	r.page.BeginSeeding(vm)
	generation, ok := r.policy.SeedFromKernel(r.page)
	if !ok {
		return false
	}
	r.page.SetGeneration(generation)
	addNoiseToSeed(&r.page.Seed)
	drbg := newDRBG(r.page, &r.page.State)
	drbg.Reseed(&r.page.Seed)
	drbg.Generate(r.page.Once[:aes256.KeySize], nil)
	aes256.Expand((*[aes256.KeySize]byte)(r.page.Once[:]), &r.page.PadKeys)
	if old != 0 && old != vm {
		r.policy.NoteChange(vm)
	}
	r.page.Refill = 0
	if !r.policy.CanSeeGeneration() {
		r.page.SeededAt = clocks()
	}
	Reseeds.Add(1)
	return true
}

// isOutdated reports whether the seed is older than the kernel's own could be, if the generation cannot be
// read.
func (r *request) isOutdated() bool {
	if r.policy.CanSeeGeneration() || failpoint.FreezeSeedAge.IsActive() {
		return false
	}
	now := clocks()
	for i, seeded := range r.page.SeededAt {
		if age := now[i] - seeded; age < 0 || age > int64(maxSeedAge) {
			return true
		}
	}
	return false
}

var started = time.Now()

// clocks returns two times in nanoseconds: the monotonic clock, which stands still while the machine
// sleeps, and the wall clock, which can go back. A test replaces it.
var clocks = func() [2]int64 {
	now := time.Now()
	return [2]int64{int64(now.Sub(started)), now.UnixNano()}
}

// noiseLen is the length of the noise that [addNoise] adds, in bytes: half a seed.
const noiseLen = guard.StateLen / 2

// addNoiseToSeed XORs the CPU's additional input into the kernel's bytes.
func addNoiseToSeed(seed *[guard.StateLen]byte) {
	addNoise((*[noiseLen]byte)(seed[:]), 2)
	addNoise((*[noiseLen]byte)(seed[noiseLen:]), 2)
}

// noiseInput writes additional input: the cycle counter and one or two words of the CPU's random
// instruction, followed by zeros.
func noiseInput(input *[guard.StateLen]byte, words uint64) {
	clear(input[:])
	addNoise((*[noiseLen]byte)(input[:]), words)
}

// addNoise XORs the cycle counter and words of the CPU's random instruction into bytes.
func addNoise(bytes *[noiseLen]byte, words uint64) {
	if !failpoint.SkipNoise.IsActive() {
		// SAFETY: the bytes have the length of three words, and this architecture reads words at any address.
		aes256.XORNoise((*[noiseLen / 8]uint64)(unsafe.Pointer(bytes)), words)
	}
}
