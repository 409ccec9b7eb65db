//go:build linux && (amd64 || arm64) && !purego

package generator

import (
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"time"
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
