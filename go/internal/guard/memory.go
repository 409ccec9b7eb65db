//go:build linux && (amd64 || arm64) && !purego

// Package guard answers two questions: may this state still be used, and where may it live? It also tells programs
// whether this machine was cloned ([CloneDetector]).
//
// The package deals with the operating system and has no cryptography. It provides memory outside Go's
// heap that a fork or the kernel wipes ([Page]), and epochs ([Epoch]): numbers that change when state that
// was seeded under them must not be used again. Epochs are compared for inequality only.
//
// It has no lock that another thread could hold: a child of a raw fork has only one.
package guard

import (
	"unsafe"

	"github.com/squall-rng/squall/go/internal/failpoint"
	"golang.org/x/sys/unix"
)

// MemoryKind is the kind of memory that holds state.
type MemoryKind uint32

const (
	// NoMemory means that there is no memory that a fork wipes, as before Linux 4.14.
	NoMemory MemoryKind = iota
	// WipeOnFork is MADV_WIPEONFORK with MADV_DONTDUMP, locked into memory where the limit allows.
	WipeOnFork
	// Droppable is MAP_DROPPABLE of Linux 6.11: wiped on fork, never in swap or a core dump, and the
	// kernel may zero it at any moment.
	Droppable
)

// String returns the kind's name in `squall status`.
func (k MemoryKind) String() string {
	return [...]string{"none", "wipe-on-fork", "droppable"}[k]
}

// PageSize is the length of a [Page], in bytes. On AMD64 the kernel's pages have the same length. On arm64 they
// are up to 16 times as long, so the kernel may empty several of these at once.
const PageSize = 4096

// mapDroppable is MAP_DROPPABLE, a mapping type of its own (include/uapi/linux/mman.h).
const mapDroppable = 0x08

// MapPages maps count empty pages of the best available kind, and returns the first; nil if there is none.
func MapPages(count int) (*Page, MemoryKind) {
	length := uintptr(count * PageSize)
	if start, ok := mapAs(mapDroppable, length); ok {
		return (*Page)(start), Droppable
	}
	start, ok := mapAs(unix.MAP_PRIVATE, length)
	if !ok {
		return nil, NoMemory
	}
	memory := unsafe.Slice((*byte)(start), length)
	if !failpoint.SkipForkGuard.IsActive() && !wipesOnFork(memory) {
		unmap(start, length)
		return nil, NoMemory
	}
	_ = unix.Madvise(memory, unix.MADV_DONTDUMP)
	return (*Page)(start), WipeOnFork
}

// UnmapPages unmaps the unused pages of a call of MapPages.
func UnmapPages(first *Page, count int) {
	unmap(unsafe.Pointer(first), uintptr(count*PageSize))
}

// Lock keeps the page out of swap, if the limit allows; the child of a fork does not inherit the lock. Droppable
// memory is never swapped.
func (p *Page) Lock() {
	_, _, _ = unix.RawSyscall(unix.SYS_MLOCK, uintptr(unsafe.Pointer(p)), PageSize, 0)
}

func mapAs(kind int, length uintptr) (unsafe.Pointer, bool) {
	if kind == mapDroppable && (failpoint.RefuseDroppable.IsActive() || failpoint.SkipForkGuard.IsActive()) {
		return nil, false
	}
	flags := kind | unix.MAP_ANONYMOUS | unix.MAP_POPULATE
	start, err := unix.MmapPtr(-1, 0, nil, length, unix.PROT_READ|unix.PROT_WRITE, flags)
	return start, err == nil
}

func unmap(start unsafe.Pointer, length uintptr) {
	_ = unix.MunmapPtr(start, length)
}

// wipesOnFork reports whether the kernel agrees to wipe the memory on fork. Some emulators accept any
// advice, so an acceptance counts only if the kernel refuses advice that does not exist.
func wipesOnFork(memory []byte) bool {
	const noAdvice = -1
	return unix.Madvise(memory, noAdvice) != nil && unix.Madvise(memory, unix.MADV_WIPEONFORK) == nil
}
