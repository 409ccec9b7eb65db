//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"sync/atomic"
	"unsafe"

	"github.com/squall-rng/squall/go/internal/failpoint"
	"golang.org/x/sys/unix"
)

// How this process notices that the kernel's RNG is in a new generation, or that this machine is a clone.

// Watch is the way in which this process notices a new generation of the kernel's RNG.
type Watch uint32

const (
	// Undecided is the state before the first seeding.
	Undecided Watch = iota
	// Mapped reads the generation at its address in the vDSO's data: one load.
	Mapped
	// Probe asks the vDSO for a byte on each request.
	Probe
	// NotWatched means that this kernel does not show its generation.
	NotWatched
)

var watch atomic.Uint32

func currentWatch() Watch { return Watch(watch.Load()) }

func setWatch(watchMode Watch, address *uint64) {
	setGenerationAddress(address)
	watch.Store(uint32(watchMode))
}

// candidateAddress is where a kernel may keep its current generation. The vDSO reaches its data pages at
// fixed distances below itself, so these pages exist with any kernel.
type candidateAddress struct{ below, offset int }

// confirmAddress reports whether the watched address holds the generation recorded with the last seed.
// Before the first seeding it searches for the address.
func (v *VDSO) confirmAddress(seeded uint64) bool {
	switch currentWatch() {
	case Mapped:
		return mappedGeneration() == seeded
	case Undecided:
		return v.findAddress(seeded)
	default:
		return true
	}
}

// findAnotherAddress searches for another address that holds the generation; without one, the vDSO is
// probed from now on.
func (v *VDSO) findAnotherAddress(seeded uint64) {
	if !v.findAddress(seeded) {
		setWatch(Probe, nil)
	}
}

// findAddress decides on the address that holds the generation; false if there is none.
func (v *VDSO) findAddress(seeded uint64) bool {
	if failpoint.HideGenerationAddress.IsActive() {
		return false
	}
	for _, address := range candidateAddresses {
		if found := (*uint64)(v.at(address.offset - address.below)); holdsGeneration(found, seeded) {
			setWatch(Mapped, found)
			return true
		}
	}
	return false
}

// holdsGeneration reports whether an address holds this generation, followed by the flag that the RNG is
// ready: a word of 1, because nothing else is in that word.
func holdsGeneration(address *uint64, generation uint64) bool {
	ready := (*uint64)(unsafe.Add(unsafe.Pointer(address), 8))
	if !isReadable(unsafe.Pointer(address)) || !isReadable(unsafe.Pointer(ready)) {
		return false
	}
	return atomic.LoadUint64(address) == generation && atomic.LoadUint64(ready) == 1
}

// isReadable reports whether 8 bytes can be read, without touching them: some data pages raise SIGBUS.
// The kernel reads the new mask before it looks at how, so an impossible how gives EINVAL for memory
// that is readable and EFAULT for the rest, and changes nothing.
func isReadable(address unsafe.Pointer) bool {
	const impossibleHow, maskLen = ^uintptr(0), 8
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, impossibleHow, uintptr(address), 0, maskLen, 0, 0)
	return errno == unix.EINVAL
}

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
