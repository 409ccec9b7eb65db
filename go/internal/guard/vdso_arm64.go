//go:build linux && arm64 && !purego

package guard

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// getrandomName is the function's name in the vDSO.
const getrandomName = "__kernel_getrandom"

// callGetrandom calls the vDSO's getrandom with flags of 0. A negative result is an errno.
//
// It blocks all signals during the call. Go keeps the goroutine in a register, which the vDSO may use for
// something else. If a signal came then, the runtime would look for the goroutine where only its own calls of
// the vDSO store it. The goroutine is pinned, so the mask before and after is that of one thread.
func callGetrandom(function uintptr, out unsafe.Pointer, length uintptr, state unsafe.Pointer, stateLength uintptr) int64 {
	Pin()
	defer Unpin()
	all, before := ^uint64(0), uint64(0)
	if !setSignalMask(&all, &before) {
		return -int64(unix.EPERM)
	}
	got := callVDSO(function, out, length, state, stateLength)
	setSignalMask(&before, nil)
	return got
}

// setSignalMask sets the thread's mask of blocked signals, and writes the old one to before, unless that is nil.
// It reports whether the kernel allowed it.
func setSignalMask(mask, before *uint64) bool {
	const setMask = 2 // SIG_SETMASK
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, setMask, uintptr(unsafe.Pointer(mask)),
		uintptr(unsafe.Pointer(before)), unsafe.Sizeof(*mask), 0, 0)
	return errno == 0
}

// callVDSO calls the vDSO's getrandom on the goroutine's stack.
//
//go:noescape
func callVDSO(function uintptr, out unsafe.Pointer, length uintptr, state unsafe.Pointer, stateLength uintptr) int64
