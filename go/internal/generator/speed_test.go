//go:build linux && (amd64 || arm64) && !purego

package generator

import (
	"fmt"
	"sync"
	"testing"

	"github.com/squall-rng/squall/go/internal/aes256"
	"github.com/squall-rng/squall/go/internal/guard"
)

// Requests one after the other: under each rule, and what they get where gaps are followed.
func BenchmarkFill(b *testing.B) {
	for name, rule := range rules() {
		for _, length := range []int{4, 16, 32, 4096, 16384} {
			buffer := make([]byte, length)
			b.Run(fmt.Sprintf("%s/%d", name, length), func(b *testing.B) {
				useRule(b, rule)
				for b.Loop() {
					Fill(buffer)
				}
			})
		}
		b.Run(name+"/word", func(b *testing.B) {
			useRule(b, rule)
			for b.Loop() {
				Word()
			}
		})
	}
	b.Run("simulation", func(b *testing.B) {
		for b.Loop() {
			SimulationWord()
		}
	})
}

// BenchmarkRefill tells what a burst's anchor costs, beside a pad.
func BenchmarkRefill(b *testing.B) {
	page, counter := pin(), guard.BestCounter()
	if page == nil || counter == guard.NoCounter {
		b.Skip("no state, or no counter")
	}
	guard.Unpin()
	b.Run("pad", func(b *testing.B) {
		var out [16]byte
		for b.Loop() {
			pad(page, out[:])
		}
	})
	b.Run("reading", func(b *testing.B) {
		for b.Loop() {
			aes256.ReadCounter(aes256.CounterMethod(counter))
		}
	})
	for _, length := range []int{firstRefill, 2 * firstRefill, 4 * firstRefill, guard.BufferLen / 2, guard.BufferLen} {
		b.Run(fmt.Sprint(length), func(b *testing.B) {
			useRule(b, guard.PadAfterPause)
			for b.Loop() {
				page := pin()
				request := request{policy: guard.ThisPolicy(), page: page}
				page.Refill, page.ShortRefills = uint64(length), 0
				request.refill()
				page.Wipe()
				guard.Unpin()
			}
		})
	}
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
