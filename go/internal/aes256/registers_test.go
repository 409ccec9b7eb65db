//go:build amd64 && !purego

package aes256

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"
)

// public tells whether a lane of a register holds zeros or a constant of the assembly.
func public(lane [BlockSize]byte) bool {
	low, high := binary.LittleEndian.Uint64(lane[:8]), binary.LittleEndian.Uint64(lane[8:])
	reverse := low == 0x08090a0b0c0d0e0f && high == 0x0001020304050607
	rotated := low == 0x0c0f0e0d_0c0f0e0d && high == low
	rcon := low>>32 == low&0x7f && high == low
	return high == 0 && (low == 0 || low == 1 || low == 4) || reverse || rotated || rcon
}

// leftBehind gives what call leaves in the vector registers that is not public. Another goroutine
// may run in between and leave something of its own: so it must be there five times.
func leftBehind(call func()) (left []string) {
	registers := new([2048]byte)
	for range 5 {
		vectors(registers)
		call()
		vectors(registers)
		left = nil
		for i, lane := range slices.Collect(slices.Chunk(registers[:], BlockSize)) {
			if !public([BlockSize]byte(lane)) {
				left = append(left, fmt.Sprintf("Z%d, lane %d: %x", i/4, i%4, lane))
			}
		}
		if left == nil {
			break
		}
	}
	return left
}

func TestNoSecretStaysInVectorRegisters(t *testing.T) {
	keys := expanded(t, testKey)
	if !slices.Contains(Available(), VAES512) {
		t.Skip("SKIP: this CPU has no 512-bit registers, so the code that looks at them can't run")
	}
	// A carry, and none.
	for _, low := range []uint64{5, ^uint64(0)} {
		for _, length := range []int{1, 8, 16, 17, 33, 48, 64, 65, 127, 200, 300, 512, 513, 1024, 1100} {
			for _, engine := range Available() {
				counter, dst := number(7, low), make([]byte, length)
				for _, left := range leftBehind(func() { engine.Keystream(keys, &counter, dst) }) {
					t.Errorf("%v, length %d, counter from %x: %s", engine, length, low, left)
				}
			}
		}
	}
	for length := 1; length <= MaxShort; length++ {
		src, dst := make([]byte, length), make([]byte, length)
		for _, left := range leftBehind(func() { Mask(keys, dst) }) {
			t.Errorf("Mask, length %d: %s", length, left)
		}
		refilled := func() {
			for i := range src {
				src[i] = 9
			}
			Take(dst, &src[0])
		}
		for _, left := range leftBehind(refilled) {
			t.Errorf("Take, length %d: %s", length, left)
		}
	}
	for _, left := range leftBehind(func() { Expand(testKey, keys) }) {
		t.Errorf("Expand: %s", left)
	}
}
