//go:build linux && arm64 && !purego

package guard

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// getrandomName is the function's name in the image.
const getrandomName = "__kernel_getrandom"

// callGetrandom calls getrandom with flags of 0; a negative value is an errno.
//
// No signal comes in the middle. Go keeps the goroutine in a register, which the vDSO may use for something
// else meanwhile; and for a signal that comes there the runtime looks for the goroutine where only its own calls
// of the vDSO leave it. Pinned, so that the mask is that of this thread before and after.
func callGetrandom(function uintptr, out unsafe.Pointer, length uintptr, state unsafe.Pointer, stateLength uintptr) int64 {
	Pin()
	defer Unpin()
	every, before := ^uint64(0), uint64(0)
	if !setMask(&every, &before) {
		return -int64(unix.EPERM)
	}
	got := callVDSO(function, out, length, state, stateLength)
	setMask(&before, nil)
	return got
}

// setMask sets the thread's mask of signals, and tells what it was.
func setMask(mask, before *uint64) bool {
	const setMask = 2 // SIG_SETMASK
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, setMask, uintptr(unsafe.Pointer(mask)),
		uintptr(unsafe.Pointer(before)), unsafe.Sizeof(*mask), 0, 0)
	return errno == 0
}

// callVDSO calls getrandom on the goroutine's stack.
//
//go:noescape
func callVDSO(function uintptr, out unsafe.Pointer, length uintptr, state unsafe.Pointer, stateLength uintptr) int64
