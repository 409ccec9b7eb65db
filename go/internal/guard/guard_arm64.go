//go:build linux && arm64 && !purego

package guard

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// What arm64 has of its own: how its vDSO is called, and barriers.

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

// There is no kvm-clock.
const mayHaveKVMClock = false

func isGuestOfKVM() bool { return false }

func hasRDPID() bool { return false }

func ownRecord(*records) uint64 { return 0 }

func currentTag(generation *uint64) Tag { return tagAt(generation) }

func sumRecords(*records) (versions, times uint64) { return 0, 0 }

// hasHypervisor reports that every machine is a VM, because programs cannot ask the CPU.
func hasHypervisor() bool { return true }

// Why a page needs barriers on arm64.
//
// A page has one user at a time, and Go's scheduler orders one user's accesses before the next one's. But the
// kernel may empty the page between any two accesses, and a CPU with arm64 performs plain loads and stores in
// any order. Go's atomic loads and stores (LDAR, STLR) do not suffice: a plain load may be performed after a
// later LDAR, and a plain store before an earlier STLR.
//
// So the bytes of a page could be loaded after it was emptied, although its marks, which are checked later in
// the program, were loaded before; and bytes could be stored and lost, although the marks, which were stored
// earlier in the program, were stored behind the loss. Each check therefore waits for all loads in front of it,
// and everything waits for marks to be stored.
//
// The kernel's generation, its tick and the signal of clones need no barrier. The kernel may reseed immediately after
// any check. And a machine or a process is stopped between two instructions: those in front of the stop have been
// executed, and those behind it are executed again.

// readBeforeChecking keeps all earlier loads ahead of all later ones (Arm ARM, DMB ISHLD).
func readBeforeChecking()

// markBeforeGoingOn keeps all earlier stores ahead of all later loads and stores (Arm ARM, DMB ISH).
func markBeforeGoingOn()

// candidateAddresses are the places of the generation in the kernels that have it.
var candidateAddresses = [...]candidateAddress{
	{2 * kernelPage, 0},   // 6.15 on: a page of its own
	{2 * kernelPage, 480}, // 6.12
	{kernelPage, 480},     // 6.12 in a time namespace
}

// clockPagesBelow are the distances from the vDSO, in pages, at which the clocks may be.
var clockPagesBelow = [...]uintptr{2, 1, 4, 3, 5}

// kernelPage is the length of the kernel's pages, in bytes: 4, 16 or 64 KiB.
var kernelPage = unix.Getpagesize()
