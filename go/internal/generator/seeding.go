//go:build linux && (amd64 || arm64) && !purego

package generator

import (
	"encoding/binary"
	"math"
	"time"
	"unsafe"

	"github.com/squall-rng/squall/go/internal/aes256"
	"github.com/squall-rng/squall/go/internal/failpoint"
	"github.com/squall-rng/squall/go/internal/guard"
)

// maxSeedAge is the oldest seed that a request may be served from where the kernel's generation cannot
// be seen: the interval of the kernel's own reseeds (CRNG_RESEED_INTERVAL, drivers/char/random.c).
const maxSeedAge = 60 * time.Second

// seed seeds the page's generator and marks it with the epoch of the seed; false if the kernel gives
// no bytes.
//
// The epoch is the one that the vDSO recorded for the bytes it gave, and the count of vmclock from
// before: whatever changes later makes the mark stale. The seed is 48 bytes of the kernel's RNG as
// entropy input, with 48 of the CPU's as additional input: two cycle counts and 256 bits of its random
// instruction; what the state was goes into it too.
func (r *request) seed() bool {
	if all.Load().kind == guard.WipeOnFork {
		r.page.Lock()
	}
	vm := r.policy.VM()
	r.page.BeginSeeding(vm)
	generation, ok := r.policy.SeedFromKernel(r.page)
	if !ok {
		return false
	}
	r.page.Mark(generation)
	mix(&r.page.Seed)
	drbg := newDRBG(r.page, &r.page.State)
	drbg.Reseed(&r.page.Seed)
	drbg.Generate(r.page.Once[:aes256.KeySize], nil)
	aes256.Expand((*[aes256.KeySize]byte)(r.page.Once[:]), &r.page.PadKeys)
	r.policy.Settle(guard.Epoch{Kernel: generation, VM: vm})
	r.page.Refill, r.page.Holds = 0, 0
	r.page.BeginBursts()
	if !r.policy.SeesGeneration() {
		r.page.SeededAt = clocks()
	}
	Reseeds.Add(1)
	return true
}

// isOutdated tells whether the seed is older than the kernel's own would be, where its generation does
// not tell.
func (r *request) isOutdated() bool {
	if r.policy.SeesGeneration() || failpoint.SeedAge.Off() {
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

// clocks are two clocks in nanoseconds: one that only goes forward but stands still while the machine
// sleeps, and the one on the wall, which does neither. A test may put others there.
var clocks = func() [2]int64 {
	now := time.Now()
	return [2]int64{int64(now.Sub(started)), now.UnixNano()}
}

// noiseLen is the length of what [stir] mixes in, in bytes: half a seed.
const noiseLen = guard.StateLen / 2

// mix XORs the CPU's additional input into the kernel's bytes.
func mix(seed *[guard.StateLen]byte) {
	stir((*[noiseLen]byte)(seed[:]), 2)
	stir((*[noiseLen]byte)(seed[noiseLen:]), 2)
}

// noise is additional input: the cycle counter and one or two words of the CPU's random instruction, and
// zeros. It tells whether there was a word: an instruction that failed gives zeros, and one that is known to
// be broken only ones.
func noise(input *[guard.StateLen]byte, words uint64) (hasWord bool) {
	clear(input[:])
	stir((*[noiseLen]byte)(input[:]), words)
	word := binary.NativeEndian.Uint64(input[8:])
	return word != 0 && word != math.MaxUint64
}

// stir XORs the cycle counter and words of the CPU's random instruction into bytes.
func stir(bytes *[noiseLen]byte, words uint64) {
	if !failpoint.Noise.Off() {
		// SAFETY: the bytes are those of three words, and on this architecture no address is too odd for one.
		aes256.Stir((*[noiseLen / 8]uint64)(unsafe.Pointer(bytes)), words)
	}
}
