//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"unsafe"

	"github.com/squall-rng/squall/go/internal/failpoint"
	"golang.org/x/sys/unix"
)

// Bytes of the kernel's RNG, written to a page and nowhere else.

// patience is the number of seedings after which an address that holds another generation is wrong: the
// kernel may have reseeded in between, but not that often.
const patience = 4

// SeedFromKernel fills the page's Seed from the kernel's RNG, and returns the generation that the
// bytes belong to; false if the kernel refuses. The caller must own the page.
func (p *Policy) SeedFromKernel(page *Page) (generation uint64, ok bool) {
	seed := unsafe.Pointer(&page.Seed)
	for attempt := 1; p.vdso != nil; attempt++ {
		generation := p.vdso.fill(page, seed, StateLen)
		if generation == 0 {
			break
		}
		if failpoint.ZeroKernelBytes.IsActive() {
			clear(page.Seed[:])
		}
		if p.vdso.confirmAddress(generation) || attempt > patience {
			return generation, true
		}
		if attempt == patience {
			p.vdso.findAnotherAddress(generation)
		}
	}
	before := mappedGeneration()
	if before == 0 {
		before = NoGeneration
	}
	return before, FreshSeed(page)
}

// FreshSeed fills the page's Seed by the system call; false if it fails. The caller must own the page,
// and the kernel's RNG must be ready, so that the call does not wait.
func FreshSeed(page *Page) bool {
	got, _, errno := unix.RawSyscall(unix.SYS_GETRANDOM, uintptr(unsafe.Pointer(&page.Seed)), StateLen, 0)
	if failpoint.ZeroKernelBytes.IsActive() {
		clear(page.Seed[:])
	}
	return errno == 0 && got == StateLen
}

// WaitForKernel waits until the kernel's RNG is ready, after which it stays ready; false if the system call
// is not available.
func WaitForKernel() bool {
	_, _, errno := unix.RawSyscall(unix.SYS_GETRANDOM, 0, 0, unix.GRND_NONBLOCK)
	for errno == unix.EAGAIN || errno == unix.EINTR {
		_, _, errno = unix.Syscall(unix.SYS_GETRANDOM, 0, 0, 0)
	}
	return errno == 0
}
