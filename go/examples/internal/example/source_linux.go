package example

import (
	"io"
	"unsafe"

	"golang.org/x/sys/unix"
)

// syscall is crypto/rand on Linux as it was when the article was written, and until Go 1.24: a system call
// for each read. Go has no switch that restores it.
func init() { Readers["syscall"] = func() io.Reader { return systemCall{} } }

// systemCall reads with getrandom(2).
type systemCall struct{}

func (systemCall) Read(b []byte) (int, error) {
	read := 0
	for read < len(b) {
		// SAFETY: the kernel writes to the len(b)-read bytes that the pointer is to, within b, and
		// keeps neither; unix.Syscall keeps b alive, as the conversion is in its arguments.
		n, _, errno := unix.Syscall(unix.SYS_GETRANDOM, uintptr(unsafe.Pointer(&b[read])), uintptr(len(b)-read), 0)
		if errno != 0 && errno != unix.EINTR {
			return read, errno
		}
		if errno == 0 {
			read += int(n)
		}
	}
	return read, nil
}
