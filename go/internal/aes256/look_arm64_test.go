//go:build linux && arm64 && !purego

package aes256

import "testing"

// Whatever is taken arrives, nothing of it stays, and the counter, which never goes back, is read.
func TestTakeAndLook(t *testing.T) {
	requireEngine(t)
	taken(t, 0, func(dst []byte, src *byte) {
		before, cpu := Look(0)
		count, same := TakeAndLook(dst, src, 0)
		after, _ := Look(0)
		if count < before || count > after || cpu == 0 || same != cpu {
			t.Fatalf("%d bytes: %#x of %#x, between %#x of %#x and %#x", len(dst), count, same, before, cpu, after)
		}
	})
}

// canLook tells that there is a counter.
func canLook(*testing.T) bool { return true }
