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
// the vDSO store it. The goroutine is pinned, so the mask before and after is that of one thread. A kernel that
// allows the first system call and refuses the second one would leave the thread without preemption: that ends
// the program.
func callGetrandom(function uintptr, out unsafe.Pointer, length uintptr, state unsafe.Pointer, stateLength uintptr) int64 {
	Pin()
	defer Unpin()
	all, before := ^uint64(0), uint64(0)
	if errno := setSignalMask(&all, &before); errno != 0 {
		return -int64(errno)
	}
	got := callVDSO(function, out, length, state, stateLength)
	if errno := setSignalMask(&before, nil); errno != 0 {
		panic("squall: the kernel does not let signals in again (rt_sigprocmask): " + errno.Error())
	}
	return got
}

// setSignalMask sets the thread's mask of blocked signals, and writes the old one to before, unless that is nil.
func setSignalMask(mask, before *uint64) unix.Errno {
	const setMask = 2 // SIG_SETMASK
	_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGPROCMASK, setMask, uintptr(unsafe.Pointer(mask)),
		uintptr(unsafe.Pointer(before)), unsafe.Sizeof(*mask), 0, 0)
	return errno
}

// callVDSO calls the vDSO's getrandom on the goroutine's stack.
//
//go:noescape
func callVDSO(function uintptr, out unsafe.Pointer, length uintptr, state unsafe.Pointer, stateLength uintptr) int64
