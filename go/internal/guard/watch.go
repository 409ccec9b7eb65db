//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"sync/atomic"
	"unsafe"

	"github.com/squall-rng/squall/go/internal/failpoint"
	"golang.org/x/sys/unix"
)

// Watch is how the kernel's generation is followed in this process.
type Watch uint32

const (
	// Undecided is so before the first seeding.
	Undecided Watch = iota
	// Mapped is by reading its place in the vDSO's data: one load.
	Mapped
	// Probe is by asking the vDSO for a byte on each request.
	Probe
	// Nothing is not at all: this kernel does not show it.
	Nothing
)

var watch atomic.Uint32

func watched() Watch { return Watch(watch.Load()) }

func decideOn(how Watch, place *uint64) {
	readGenerationAt(place)
	watch.Store(uint32(how))
}

// place is where a kernel may keep its current generation: the vDSO reaches its data pages at fixed
// distances below itself, so there are pages there whatever kernel this is.
type place struct{ below, offset int }

// validate tells whether the generation recorded with the last seed is what the watched place shows.
// Before there is one, it looks for it.
func (v *VDSO) validate(seeded uint64) bool {
	switch watched() {
	case Mapped:
		return mappedGeneration() == seeded
	case Undecided:
		return v.locate(seeded)
	default:
		return true
	}
}

// relocate looks for another place that shows the generation; without one the vDSO is probed from
// here on.
func (v *VDSO) relocate(seeded uint64) {
	if !v.locate(seeded) {
		decideOn(Probe, nil)
	}
}

// locate decides on the place that shows the generation; false if none does.
func (v *VDSO) locate(seeded uint64) bool {
	if failpoint.GenerationPlace.Off() {
		return false
	}
	for _, place := range places {
		if found := (*uint64)(v.at(place.offset - place.below)); shows(found, seeded) {
			decideOn(Mapped, found)
			return true
		}
	}
	return false
}

// shows tells whether a place holds this generation and, behind it, the flag that the RNG is ready:
// a word of 1, as nothing else is kept in it.
func shows(place *uint64, generation uint64) bool {
	ready := (*uint64)(unsafe.Add(unsafe.Pointer(place), 8))
	if !isReadable(unsafe.Pointer(place)) || !isReadable(unsafe.Pointer(ready)) {
		return false
	}
	return atomic.LoadUint64(place) == generation && atomic.LoadUint64(ready) == 1
}

// isReadable tells whether 8 bytes can be read, without touching them: some data pages raise SIGBUS.
// The kernel reads the new mask before it looks at how, so an impossible how gives EINVAL for memory
// that is readable and EFAULT for the rest, and changes nothing.
func isReadable(address unsafe.Pointer) bool {
	const impossibleHow, maskLen = ^uintptr(0), 8
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, impossibleHow, uintptr(address), 0, maskLen, 0, 0)
	return errno == unix.EINVAL
}
