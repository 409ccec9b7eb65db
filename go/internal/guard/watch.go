//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"math/bits"
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

// What requests read.

var (
	// unmappedGeneration is read if no generation is mapped: no state was seeded under it.
	unmappedGeneration uint64
	// noSignal is read if no device shows a signal.
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
func mappedGeneration() uint64 { return unlessFrozen(atomic.LoadUint64(generationAddress.Load())) }

func unlessFrozen(generation uint64) uint64 {
	if failpoint.FreezeGeneration.IsActive() && generation != 0 {
		return frozen
	}
	return generation
}

// watchedGeneration returns the address of the kernel's generation; 0 if it is not mapped.
func watchedGeneration() uintptr {
	if address := generationAddress.Load(); address != &unmappedGeneration {
		return uintptr(unsafe.Pointer(address))
	}
	return 0
}

func setGenerationAddress(address *uint64) {
	if address == nil {
		address = &unmappedGeneration
	}
	generationAddress.Store(address)
}

// Tag is the freshness tag, which the fast path compares before bytes leave. It changes with the kernel's generation and
// tick, and with the signal of clones.
type Tag struct{ Kernel, VM uint64 }

// CurrentTag returns the current freshness tag.
func CurrentTag() Tag { return currentTag(generationAddress.Load()) }

// TagUnder returns the current freshness tag, with this generation in place of the kernel's current one.
func TagUnder(generation uint64) Tag { return currentTag(&generation) }

// tagAt returns the current freshness tag, with the generation at an address. The fast path calls it while it is pinned,
// so it must not be a preemption point. On AMD64 tagOfOwnRecord replaces it.
//
// The generation is a count in the upper bits, where the tick has none, so neither hides a change of the other.
//
//go:nosplit
func tagAt(generation *uint64) Tag {
	const generationAt = 36
	kernel := bits.RotateLeft64(unlessFrozen(atomic.LoadUint64(generation)), generationAt) ^ tick()
	if own := ownRecords.Load(); own != nil && !failpoint.FreezeKVMClock.IsActive() {
		return Tag{kernel, ownRecord(own)}
	}
	return Tag{kernel, otherSignal()}
}

// isPartOfTagFrozen reports whether a test makes a part of the tag appear never to change.
func isPartOfTagFrozen() bool {
	return failpoint.FreezeGeneration.IsActive() || failpoint.FreezeTick.IsActive() || failpoint.FreezeKVMClock.IsActive()
}

func tick() uint64 {
	if failpoint.FreezeTick.IsActive() {
		return 0
	}
	return atomic.LoadUint64(tickAddress.Load())
}

// otherSignal returns what requests compare where it is not their CPU's record; 0 if there is no signal.
//
//go:nosplit
func otherSignal() uint64 {
	if all := allRecords.Load(); all != nil {
		return all.all()
	}
	return fold(atomic.LoadUint64(signalFirst.Load()), atomic.LoadUint64(signalLast.Load()))
}
