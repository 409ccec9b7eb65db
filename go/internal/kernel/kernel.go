// Package kernel asks the operating system, as crypto/rand does, where squall can keep no state.
package kernel

import (
	"crypto/rand"
	"io"
	"unsafe"
)

// system is crypto/rand's own reader, from before the program may put squall's in its place.
var system io.Reader = rand.Reader

// Fill fills out with the operating system's random bytes. It never fails: crypto/rand ends the
// program if they cannot be had.
func Fill(out []byte) {
	// SAFETY: the reader keeps nothing of what it fills; so it need not be on the heap.
	hidden := unsafe.Slice((*byte)(noescape(unsafe.Pointer(unsafe.SliceData(out)))), len(out))
	if _, err := io.ReadFull(system, hidden); err != nil {
		panic("squall: the operating system gives no random bytes: " + err.Error())
	}
}

// noescape hides from escape analysis where a pointer goes.
func noescape(pointer unsafe.Pointer) unsafe.Pointer {
	address := uintptr(pointer)
	// SAFETY: it is the pointer that it was, and a pointer again before the next statement.
	return *(*unsafe.Pointer)(unsafe.Pointer(&address))
}
