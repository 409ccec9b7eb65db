//go:build linux && (amd64 || arm64) && !purego

package aes256

import (
	"bytes"
	"crypto/aes"
	"encoding/binary"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Exactly the requested number of words is drawn.
func TestNoiseHasTheRequestedWords(t *testing.T) {
	requireEngine(t)
	for words := range uint64(3) {
		out := [3]uint64{0, 5, 6}
		wasPaused := isPaused()
		XORNoise(&out, words)
		if wasPaused || isPaused() {
			t.Skip("the random instruction gave no word")
		}
		if (out[1] != 5) != (hasRandom && words > 0) || (out[2] != 6) != (hasRandom && words > 1) || out[0] == 0 {
			t.Errorf("%d words: %x", words, out)
		}
	}
}

func TestTake(t *testing.T) {
	requireEngine(t)
	for length := BlockSize; length <= MaxShort; length++ {
		for _, offset := range []int{0, 1, 9} {
			src, dst := newGuarded(offset, length), newGuarded(2*offset, length)
			for i := range src.bytes {
				src.bytes[i] = byte(i + 1)
			}
			expected := bytes.Clone(src.bytes)
			Take(dst.bytes, &src.memory[guardSize+offset])
			if !bytes.Equal(dst.bytes, expected) {
				t.Fatalf("%d bytes arrived as %x", length, dst.bytes)
			}
			if !bytes.Equal(src.bytes, make([]byte, length)) {
				t.Fatalf("%d bytes left %x behind", length, src.bytes)
			}
			if !src.isIntact() || !dst.isIntact() {
				t.Fatalf("%d bytes: wrote beyond them", length)
			}
		}
	}
}

func TestOtherLengthsAreRefused(t *testing.T) {
	keys := roundKeys(t, testKey)
	long := make([]byte, MaxShort+1)
	for name, call := range map[string]func(){
		"Pad":             func() { Pad(keys, long, 0) },
		"Take":            func() { Take(long, &make([]byte, len(long))[0]) },
		"Take of too few": func() { Take(make([]byte, BlockSize-1), &long[0]) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: accepted", name)
				}
			}()
			call()
		}()
	}
}

// isPaused reports whether the random instruction gave no word lately, and is not asked for a while.
func isPaused() bool { return randomPause.left.Load() != 0 }

func TestPadAtKnownNumbers(t *testing.T) {
	keys := roundKeys(t, testKey)
	for _, at := range []struct{ word, cycles uint64 }{
		{0, 0}, {0x0123456789abcdef, 0x00dcba9876543210}, {1<<64 - 1, 1<<60 - 1},
	} {
		for length := 1; length <= MaxShort; length++ {
			offset := length % 17
			dst := newGuarded(offset, length)
			expected := make([]byte, length)
			for i := range length {
				dst.bytes[i], expected[i] = byte(i), byte(i)
			}
			pad(keys, dst.bytes, sourceCaller, at.word, at.cycles)
			xorReference(t, testKey, at.word, at.cycles<<4, expected)
			if !bytes.Equal(dst.bytes, expected) {
				t.Fatalf("wrong keystream: block %x:%x, length %d", at.word, at.cycles<<4, length)
			}
			if !dst.isIntact() {
				t.Fatalf("wrote beyond dst: length %d", length)
			}
		}
	}
}

// numberOf returns the halves of the number of a block of keystream under testKey.
func numberOf(tb testing.TB, keystream []byte) (word, low uint64) {
	tb.Helper()
	cipher, err := aes.NewCipher(testKey[:])
	if err != nil {
		tb.Fatal(err)
	}
	var number [BlockSize]byte
	cipher.Decrypt(number[:], keystream)
	return binary.BigEndian.Uint64(number[:8]), binary.BigEndian.Uint64(number[8:])
}

// A pad's number has the caller's number in it, and a word of the random instruction if that is asked.
func TestPadNumbers(t *testing.T) {
	keys := roundKeys(t, testKey)
	const number = 0x0123_4567_89ab_cdef
	count := func() uint64 {
		var out [3]uint64
		XORNoise(&out, 0)
		return out[0] << 4
	}
	drawn := map[uint64]bool{0: true}
	for range 100 {
		for source := sourceCycles; source <= sourceCyclesAndRandom; source++ {
			if source == sourceCyclesAndRandom && !hasRandom {
				continue
			}
			var dst [BlockSize]byte
			before := count()
			missing := pad(keys, dst[:], source, number, 0)
			after := count()
			word, low := numberOf(t, dst[:])
			// Counters of two CPUs may differ, so the order is not checked where it is the other way round.
			if before < after && (low < before || low > after) {
				t.Errorf("source %d: count %#x, between %#x and %#x", source, low, before, after)
			}
			if source == sourceCycles && (word != number || missing != 0) {
				t.Errorf("the word is %#x, %d are missing", word, missing)
			}
			if source == sourceCyclesAndRandom && missing == 0 {
				if drawn[word^number] {
					t.Errorf("the random word %#x is not new", word^number)
				}
				drawn[word^number] = true
			}
		}
	}
	if hasRandom && len(drawn) == 1 {
		t.Error("the random instruction gave no words")
	}
}

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
	for length := range MaxShort + 1 {
		Pad(keys, short[MaxShort-length:], 0)
		if length >= BlockSize {
			Take(short[MaxShort-length:], &other[MaxShort-length])
		}
	}
}
