//go:build linux && arm64 && !purego

package aes256

import "testing"

// All bytes are moved, none stays behind, and the counter, which never goes back, is read.
func TestTakeAndReadCounter(t *testing.T) {
	requireEngine(t)
	checkTake(t, 0, func(dst []byte, src *byte) {
		before, cpu := ReadCounter(0)
		count, same := TakeAndReadCounter(dst, src, 0)
		after, _ := ReadCounter(0)
		if count < before || count > after || cpu == 0 || same != cpu {
			t.Fatalf("%d bytes: %#x of %#x, between %#x of %#x and %#x", len(dst), count, same, before, cpu, after)
		}
	})
}

// hasCounter reports that there is a counter.
func hasCounter(*testing.T) bool { return true }
