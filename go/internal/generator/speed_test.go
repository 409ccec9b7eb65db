//go:build linux && amd64 && !purego

package generator

import (
	"fmt"
	"sync"
	"testing"

	"github.com/squall-rng/squall/go/internal/guard"
)

func BenchmarkFill(b *testing.B) {
	for _, length := range []int{4, 16, 32, 4096, 16384} {
		buffer := make([]byte, length)
		b.Run(fmt.Sprint(length), func(b *testing.B) {
			for b.Loop() {
				Fill(buffer)
			}
		})
		b.Run(fmt.Sprint("without-pad/", length), func(b *testing.B) {
			was := padded.Swap(false)
			defer padded.Store(was)
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

// Ways to have state to oneself for a request.
func BenchmarkOwnership(b *testing.B) {
	b.Run("pin", func(b *testing.B) {
		for b.Loop() {
			guard.Pin()
			guard.Unpin()
		}
	})
	b.Run("mutex", func(b *testing.B) {
		var mutex sync.Mutex
		for b.Loop() {
			mutex.Lock()
			mutex.Unlock() //lint:ignore SA2001 it is only measured
		}
	})
	b.Run("pool", func(b *testing.B) {
		pool := sync.Pool{New: func() any { return new(int) }}
		for b.Loop() {
			pool.Put(pool.Get())
		}
	})
	b.Run("channel", func(b *testing.B) {
		generators := make(chan *int, 1)
		generators <- new(int)
		for b.Loop() {
			generators <- <-generators
		}
	})
}
