//go:build linux && (amd64 || arm64) && !purego && !race

// The race detector leaves things of its own in registers.

package aes256

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"github.com/squall-rng/squall/go/internal/registers"
)

// requireErased fails if call leaves anything in a vector or mask register, or a word of secret in any.
func requireErased(t *testing.T, secret []byte, call func()) {
	t.Helper()
	left := registers.After(call)
	if found := left.NonZero(); len(found) > 0 {
		t.Errorf("not zero: %v", found)
	}
	if found := left.Words(secret); len(found) > 0 {
		t.Errorf("words of a secret: %v", found)
	}
}

// block gives the bytes of words, the first byte of each first.
func block(words ...uint64) (bytes []byte) {
	for _, word := range words {
		bytes = binary.BigEndian.AppendUint64(bytes, word)
	}
	return bytes
}

// No function leaves round keys, counters or keystream in registers. What fails without erasing is in
// package registers: all of these must.
func TestRegistersAreErased(t *testing.T) {
	keys := roundKeys(t, testKey)
	const high, low = 0x7a11_9d5e_0c3b_f846, 0x3fd2_68b1_e597_4c00
	for _, engine := range Available() {
		for _, length := range []int{
			1, 8, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 127, 128, 129, 200, 256, 300, 512, 513, 1024, 1100,
			4096, 4111, 16384, 65536, 65537, 200_000,
		} {
			dst := make([]byte, length)
			t.Run(fmt.Sprintf("%v/%d", engine, length), func(t *testing.T) {
				counter, start := new([BlockSize]byte), blockOf(high, low)
				last := low + uint64(length+BlockSize-1)/BlockSize
				requireErased(t, append(block(high, low, low+1, last), keys[:]...), func() {
					registers.Copy(counter[:], start[:])
					engine.Keystream(keys, counter, dst)
				})
			})
			t.Run(fmt.Sprintf("%v/%d where the counter carries", engine, length), func(t *testing.T) {
				counter, start := new([BlockSize]byte), blockOf(high, math.MaxUint64)
				requireErased(t, append(block(high, high+1), keys[:]...), func() {
					registers.Copy(counter[:], start[:])
					engine.Keystream(keys, counter, dst)
				})
			})
		}
	}
	src := make([]byte, MaxShort)
	fill := func() {
		for i := range src { // a copy of the whole would itself leave it in vector registers
			src[i] = 9
		}
	}
	for length := range MaxShort + 1 {
		dst := make([]byte, length)
		if length > 0 {
			t.Run(fmt.Sprintf("pad/%d", length), func(t *testing.T) {
				requireErased(t, append(block(high, low), keys[:]...), func() {
					pad(keys, dst, sourceCaller, high, low>>4)
				})
				requireErased(t, keys[:], func() { Pad(keys, dst, 1) })
			})
		}
		if length >= BlockSize {
			t.Run(fmt.Sprintf("take/%d", length), func(t *testing.T) {
				requireErased(t, bytes.Repeat([]byte{9}, 8), func() { fill(); Take(dst, &src[0]) })
			})
		}
	}
	t.Run("expand", func(t *testing.T) {
		requireErased(t, keys[:], func() { Expand(testKey, keys) })
	})
	t.Run("xor", func(t *testing.T) {
		out := new([XORLen]byte)
		for _, second := range []*[XORLen]byte{nil, (*[XORLen]byte)(keys[XORLen:])} {
			requireErased(t, keys[:], func() { XOR(out, (*[XORLen]byte)(keys[:]), second) })
		}
	})
	t.Run("stir", func(t *testing.T) {
		out := new([3]uint64)
		left := registers.After(func() {
			clear(out[:])
			XORNoise(out, 2)
		})
		for _, word := range out {
			if found := left.Words(block(word)); len(found) > 0 {
				t.Errorf("words of it: %v", found)
			}
		}
	})
}
