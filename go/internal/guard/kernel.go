//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"unsafe"

	"github.com/squall-rng/squall/go/internal/failpoint"
	"golang.org/x/sys/unix"
)

// Bytes of the kernel's RNG, written to a page and nowhere else.

// patience is how many seedings under a place that shows another generation make it wrong: the
// kernel may have reseeded in between, but not so often.
const patience = 4

// SeedFromKernel fills the page's Seed from the kernel's RNG, and returns the generation that the
// bytes belong to; false if the kernel refuses. Who calls has the page alone.
func (p *Policy) SeedFromKernel(page *Page) (generation uint64, ok bool) {
	seed := unsafe.Pointer(&page.Seed)
	for attempt := 1; p.vdso != nil; attempt++ {
		generation := p.vdso.fill(page, seed, StateLen)
		if generation == 0 {
			break
		}
		if failpoint.KernelBytes.Off() {
			clear(page.Seed[:])
		}
		if p.vdso.validate(generation) || attempt > patience {
			return generation, true
		}
		if attempt == patience {
			p.vdso.relocate(generation)
		}
	}
	before := mappedGeneration()
	if before == 0 {
		before = NoGeneration
	}
	return before, FreshSeed(page)
}

// FreshSeed fills the page's Seed by the system call; false if it fails. Who calls has the page alone,
// and has seen the kernel's RNG ready, so that it does not wait.
func FreshSeed(page *Page) bool {
	got, _, errno := unix.RawSyscall(unix.SYS_GETRANDOM, uintptr(unsafe.Pointer(&page.Seed)), StateLen, 0)
	if failpoint.KernelBytes.Off() {
		clear(page.Seed[:])
	}
	return errno == 0 && got == StateLen
}

// WaitForKernel waits until the kernel's RNG is ready, which it then stays; false if there is no such
// system call.
func WaitForKernel() bool {
	_, _, errno := unix.RawSyscall(unix.SYS_GETRANDOM, 0, 0, unix.GRND_NONBLOCK)
	for errno == unix.EAGAIN || errno == unix.EINTR {
		_, _, errno = unix.Syscall(unix.SYS_GETRANDOM, 0, 0, 0)
	}
	return errno == 0
}
