package squall_test

import (
	"crypto/rand"
	"fmt"
	mathrand "math/rand/v2"
	"testing"

	squall "github.com/squall-rng/squall/go"
)

func BenchmarkRead(b *testing.B) {
	for _, length := range []int{4, 16, 32, 256, 4096, 1 << 16, 1 << 20} {
		buffer := make([]byte, length)
		run := func(name string, read func([]byte) (int, error)) {
			b.Run(fmt.Sprintf("%s/%d", name, length), func(b *testing.B) {
				b.SetBytes(int64(length))
				for b.Loop() {
					read(buffer)
				}
			})
		}
		run("squall", squall.Read)
		run("crypto", rand.Read)
	}
}

func BenchmarkUint64(b *testing.B) {
	b.Run("squall", func(b *testing.B) {
		for b.Loop() {
			squall.Uint64()
		}
	})
	b.Run("simulation", func(b *testing.B) {
		for b.Loop() {
			squall.SimulationSource{}.Uint64()
		}
	})
	b.Run("math", func(b *testing.B) {
		for b.Loop() {
			mathrand.Uint64()
		}
	})
}
