//go:build linux && amd64 && !purego

package local

import (
	"fmt"
	"testing"
)

func BenchmarkFill(b *testing.B) {
	for _, length := range []int{4, 16, 32} {
		buffer := make([]byte, length)
		b.Run(fmt.Sprint(length), func(b *testing.B) {
			for b.Loop() {
				Fill(buffer)
			}
		})
		b.Run(fmt.Sprint("unmasked/", length), func(b *testing.B) {
			was := masked.Swap(false)
			defer masked.Store(was)
			for b.Loop() {
				Fill(buffer)
			}
		})
	}
	b.Run("word", func(b *testing.B) {
		for b.Loop() {
			Word()
		}
	})
}
