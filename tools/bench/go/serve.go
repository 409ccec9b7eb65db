package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// answer does what `line` asks for:
//
//	time fill LENGTH CALLS | time u32 CALLS | time u64 CALLS   nanoseconds a request
//	sample LENGTH                                              `bytes LENGTH`, and so many bytes
//	parallel THREADS LENGTH MILLISECONDS                       time by all requests of all threads
func answer(out io.Writer, source source, line string) {
	var length, calls, threads, milliseconds int
	var ns float64
	var err error
	switch {
	case scan(line, "time fill %d %d", &length, &calls):
		ns, err = timeFills(source, length, calls)
	case scan(line, "time u32 %d", &calls):
		ns = perCall(calls, func() { source.u32s(calls) })
	case scan(line, "time u64 %d", &calls):
		ns = perCall(calls, func() { source.u64s(calls) })
	case scan(line, "parallel %d %d %d", &threads, &length, &milliseconds):
		ns = parallel(source, threads, length, time.Duration(milliseconds)*time.Millisecond)
	case scan(line, "sample %d", &length):
		fmt.Fprintf(out, "bytes %d\n", length)
		_, _ = out.Write(sample(source, length))
		return
	default:
		err = errors.New("no such request: " + line)
	}
	if err != nil {
		fmt.Fprintln(out, "error", err)
		return
	}
	fmt.Fprintln(out, ns)
}

func scan(line, form string, into ...any) bool {
	n, err := fmt.Sscanf(line, form, into...)
	return err == nil && n == len(into)
}

// perCall is the nanoseconds of one of `calls`, which `all` makes.
func perCall(calls int, all func()) float64 {
	clock := time.Now()
	all()
	return float64(time.Since(clock).Nanoseconds()) / float64(calls)
}

// telling is the length of the shortest buffer of which two fills are never alike by chance.
const telling = 16

func timeFills(source source, length, calls int) (float64, error) {
	out := make([]byte, length)
	ns := perCall(calls, func() { source.fills(out, calls) })
	if length >= telling {
		var zeros [telling]byte
		if bytes.Equal(out[:telling], zeros[:]) || bytes.Equal(out[length-telling:], zeros[:]) {
			return 0, errUnchanged
		}
	}
	return ns, nil
}

// sample is what requests of 1 to 4096 bytes give.
func sample(source source, length int) []byte {
	lengths := [...]int{1, 16, 32, 100, 1000, 4096}
	out := make([]byte, length)
	for rest, i := out, 0; len(rest) > 0; i++ {
		part := min(lengths[i%len(lengths)], len(rest))
		source.fill(rest[:part])
		rest = rest[part:]
	}
	return out
}

// parallel fills buffers in as many goroutines as there are to be threads.
func parallel(source source, threads, length int, duration time.Duration) float64 {
	var over atomic.Bool
	var total atomic.Int64
	var workers sync.WaitGroup
	start := make(chan struct{})
	for range threads {
		workers.Add(1)
		go func() {
			defer workers.Done()
			// In cache lines of its own, as the stacks and heaps of threads are.
			out := make([]byte, max(length, 128))[:length]
			source.fill(out)
			<-start
			var calls int64
			// At least one, however late this goroutine begins.
			for done := false; !done; done = over.Load() {
				source.fill(out)
				calls++
			}
			total.Add(calls)
		}()
	}
	clock := time.Now()
	close(start)
	time.Sleep(duration)
	over.Store(true)
	workers.Wait()
	return float64(time.Since(clock).Nanoseconds()) / float64(total.Load())
}
