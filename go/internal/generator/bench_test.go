//go:build linux && (amd64 || arm64) && !purego

package generator

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/squall-rng/squall/go/internal/guard"
)

// How long it takes to stop the world, as the garbage collector does, while goroutines do nothing but
// draw: the median.
func BenchmarkStopTheWorld(b *testing.B) {
	var stop atomic.Bool
	defer stop.Store(true)
	for range runtime.GOMAXPROCS(0) {
		go func() {
			out := make([]byte, 1<<16)
			for !stop.Load() {
				Fill(out)
				Fresh(out)
			}
		}()
	}
	before := stops()
	for b.Loop() {
		runtime.GC()
	}
	b.ReportMetric(float64(medianOf(before, stops()).Nanoseconds()), "ns/stop")
}

// stops tells how long the garbage collector's stops of the world took to begin, since the process did.
func stops() *metrics.Float64Histogram {
	sample := []metrics.Sample{{Name: "/sched/pauses/stopping/gc:seconds"}}
	metrics.Read(sample)
	return sample[0].Value.Float64Histogram()
}

// medianOf is the median of what came between, at most.
func medianOf(before, after *metrics.Float64Histogram) time.Duration {
	total := uint64(0)
	for i := range after.Counts {
		total += after.Counts[i] - before.Counts[i]
	}
	sum := uint64(0)
	for i := range after.Counts {
		if sum += after.Counts[i] - before.Counts[i]; 2*sum >= total {
			return time.Duration(after.Buckets[i+1] * float64(time.Second))
		}
	}
	return 0
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
