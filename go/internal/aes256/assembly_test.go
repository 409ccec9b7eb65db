//go:build (amd64 || (linux && arm64)) && !purego

// Tests of builds with assembly.

package aes256

import (
	"bytes"
	"crypto/aes"
	"encoding/binary"
	"testing"
)

const hasAssembly = true

var hasRandom = numberSource == sourceCyclesAndRandom

// isPaused reports whether the random instruction gave no word lately, and is not asked for a while.
func isPaused() bool { return randomPause.left.Load() != 0 }

// FIPS 197 appendix A.3: the words of the key schedule.
const schedule = "" +
	"603deb1015ca71be2b73aef0857d7781" + "1f352c073b6108d72d9810a30914dff4" +
	"9ba354118e6925afa51a8b5f2067fcde" + "a8b09c1a93d194cdbe49846eb75d5b9a" +
	"d59aecb85bf3c917fee94248de8ebe96" + "b5a9328a2678a647983122292f6c79b3" +
	"812c81addadf48ba24360af2fab8b464" + "98c5bfc9bebd198e268c3ba709e04214" +
	"68007bacb2df331696e939e46c518d80" + "c814e20476a9fb8a5025c02d59c58239" +
	"de1369676ccc5a71fa2563959674ee15" + "5886ca5d2e2f31d77e0af1fa27cf73c3" +
	"749c47ab18501ddae2757e4f7401905a" + "cafaaae3e4d59b349adf6acebd10190d" +
	"fe4890d1e6188d0b046df344706c631e"

func TestExpand(t *testing.T) {
	if keys := roundKeys(t, testKey); !bytes.Equal(keys[:], unhex(schedule)) {
		t.Errorf("round keys %x", keys)
	}
}

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
