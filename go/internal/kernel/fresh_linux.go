package kernel

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// FillFresh fills out by system calls: with bytes that the kernel made for this request alone, which
// getrandom in the vDSO does not promise.
func FillFresh(out []byte) {
	for len(out) > 0 {
		got, _, errno := unix.Syscall(unix.SYS_GETRANDOM, uintptr(unsafe.Pointer(&out[0])), uintptr(len(out)), 0)
		switch errno {
		case 0:
			out = out[got:]
		case unix.EINTR:
		default:
			Fill(out)
			return
		}
	}
}
