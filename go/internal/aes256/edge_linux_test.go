package aes256

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// edge gives length bytes in memory of the kernel's that end where reading and writing faults.
func edge(t *testing.T, length int) []byte {
	t.Helper()
	page := unix.Getpagesize()
	usable := (length + page - 1) / page * page
	memory, err := unix.Mmap(-1, 0, usable+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(memory) })
	if err := unix.Mprotect(memory[usable:], unix.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return memory[usable-length : usable]
}

// Nothing is read or written behind any argument: here that would end the test.
func TestNothingBeyondTheArgumentsIsTouched(t *testing.T) {
	requireEngine(t)
	key, keys := (*[KeySize]byte)(edge(t, KeySize)), (*[KeysSize]byte)(edge(t, KeysSize))
	counter := (*[BlockSize]byte)(edge(t, BlockSize))
	noise := (*[3]uint64)(unsafe.Pointer(unsafe.SliceData(edge(t, 24)))) // SAFETY: 24 bytes, aligned as a page's end is.
	long, short, other := edge(t, 4096), edge(t, MaxShort), edge(t, MaxShort)
	first, second, sum := edge(t, XORLen), edge(t, XORLen), edge(t, XORLen)
	Expand(key, keys)
	XOR((*[XORLen]byte)(sum), (*[XORLen]byte)(first), (*[XORLen]byte)(second))
	XORNoise(noise, 2)
	for _, engine := range Available() {
		for length := range len(long) {
			engine.Keystream(keys, counter, long[len(long)-length:])
		}
	}
	for length := 1; length <= MaxShort; length++ {
		Pad(keys, short[MaxShort-length:], 0)
		if length >= BlockSize {
			Take(short[MaxShort-length:], &other[MaxShort-length])
		}
	}
}
