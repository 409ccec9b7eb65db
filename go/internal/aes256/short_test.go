package aes256

import (
	"bytes"
	"slices"
	"testing"
)

func TestPadUsesNewNumbers(t *testing.T) {
	keys := roundKeys(t, testKey)
	seen := map[string]bool{}
	for range 1000 {
		dst := make([]byte, BlockSize)
		Pad(keys, dst, 0)
		seen[string(dst)] = true
		waitForCounter()
	}
	if len(seen) != 1000 {
		t.Errorf("1000 pads, %d of them different", len(seen))
	}
}

func TestPadStaysWithinDst(t *testing.T) {
	keys := roundKeys(t, testKey)
	for length := range MaxShort + 1 {
		dst := newGuarded(length%13, length)
		Pad(keys, dst.bytes, 0)
		if !dst.isIntact() {
			t.Fatalf("wrote beyond dst: length %d", length)
		}
		if length >= BlockSize && bytes.Equal(dst.bytes[length-BlockSize:], make([]byte, BlockSize)) {
			t.Fatalf("did not XOR the end: length %d", length)
		}
	}
}

func TestNoiseIsNew(t *testing.T) {
	requireEngine(t)
	var first, second [3]uint64
	wasPaused := isPaused()
	XORNoise(&first, 2)
	waitForCounter()
	XORNoise(&second, 2)
	if second[0] == first[0] {
		t.Errorf("cycle counter %d, then the same", first[0])
	}
	if !hasRandom {
		t.Skip("this CPU has no random instruction")
	}
	if wasPaused || isPaused() {
		t.Skip("the random instruction gave no word")
	}
	words := []uint64{first[1], first[2], second[1], second[2]}
	slices.Sort(words)
	if len(slices.Compact(words)) != 4 || words[0] == 0 {
		t.Errorf("random words %x", words)
	}
}

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
	checkTake(t, BlockSize, Take)
}

// checkTake tries a way to take from a length on.
func checkTake(t *testing.T, shortest int, take func(dst []byte, src *byte)) {
	t.Helper()
	for length := shortest; length <= MaxShort; length++ {
		for _, offset := range []int{0, 1, 9} {
			src, dst := newGuarded(offset, length), newGuarded(2*offset, length)
			for i := range src.bytes {
				src.bytes[i] = byte(i + 1)
			}
			expected := bytes.Clone(src.bytes)
			take(dst.bytes, &src.memory[guardSize+offset])
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

func TestNothingIsAllocated(t *testing.T) {
	keys := roundKeys(t, testKey)
	counter, dst, noise := new([BlockSize]byte), make([]byte, 1000), new([3]uint64)
	allocations := testing.AllocsPerRun(100, func() {
		Expand(testKey, keys)
		for _, engine := range available {
			engine.Keystream(keys, counter, dst)
		}
		Pad(keys, dst[:40], 0)
		XORNoise(noise, 2)
		Take(dst[:40], &dst[100])
	})
	if allocations != 0 {
		t.Errorf("%v allocations", allocations)
	}
}
