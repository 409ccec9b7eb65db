// Go's sources of random numbers, for `squall bench`: a program with its standard library alone.
//
//	serve crypto|math           says `ready`, and answers requests, one a line
//	first crypto|math           nanoseconds of the first 32 bytes of this process
//
// An answer is a line: a number, or `error` and why. The program never outlives its input.
package main

import (
	"bufio"
	"bytes"
	crypto "crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	math "math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

func main() {
	if len(os.Args) != 3 {
		fail(errors.New("which source?"))
	}
	switch mode, name := os.Args[1], os.Args[2]; mode {
	case "serve":
		serveInput(name)
	case "first":
		ns, err := first(name)
		if err != nil {
			fail(err)
		}
		fmt.Println(ns)
	default:
		fail(errors.New("no such mode: " + mode))
	}
}

// first times the first 32 bytes.
func first(name string) (float64, error) {
	source, err := sourceNamed(name)
	if err != nil {
		return 0, err
	}
	var out [32]byte
	clock := time.Now()
	source.fill(out[:])
	elapsed := time.Since(clock)
	if out == [32]byte{} {
		return 0, errUnchanged
	}
	return float64(elapsed.Nanoseconds()), nil
}

// serveInput answers lines of standard input. They are read beside the work, so that an end of
// input ends the work too.
func serveInput(name string) {
	source, err := sourceNamed(name)
	if err != nil {
		fail(err)
	}
	fmt.Println("ready")
	lines := make(chan string)
	go func() {
		input := bufio.NewScanner(os.Stdin)
		for input.Scan() {
			lines <- input.Text()
		}
		os.Exit(0)
	}()
	for line := range lines {
		answer(os.Stdout, source, line)
	}
}

func fail(err error) {
	fmt.Println("error " + err.Error())
	os.Exit(1)
}

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

var errUnchanged = errors.New("a buffer was left as it was")

// source is a generator. Loops over requests are its own, so that what is timed is the generator
// and no call through an interface.
type source struct {
	fill  func(out []byte)
	fills func(out []byte, calls int)
	u32s  func(calls int)
	u64s  func(calls int)
}

func sourceNamed(name string) (source, error) {
	switch name {
	case "crypto":
		return source{cryptoFill, cryptoFills, cryptoU32s, cryptoU64s}, nil
	case "math":
		return source{mathFill, mathFills, mathU32s, mathU64s}, nil
	}
	return source{}, errors.New("no such source: " + name)
}

// sink keeps numbers from being optimised away.
var sink uint64

// A Go program that needs a number from crypto/rand reads its bytes.

func cryptoFill(out []byte) {
	if _, err := crypto.Read(out); err != nil {
		fail(err)
	}
}

func cryptoFills(out []byte, calls int) {
	for range calls {
		cryptoFill(out)
	}
}

func cryptoU32s(calls int) {
	for range calls {
		var out [4]byte
		cryptoFill(out[:])
		sink += uint64(binary.LittleEndian.Uint32(out[:]))
	}
}

func cryptoU64s(calls int) {
	for range calls {
		var out [8]byte
		cryptoFill(out[:])
		sink += binary.LittleEndian.Uint64(out[:])
	}
}

// math/rand/v2 gives no bytes; these are the numbers of its functions, which draw from the
// runtime's generator: ChaCha8, one for each thread.

func mathFill(out []byte) {
	for len(out) >= 8 {
		binary.LittleEndian.PutUint64(out, math.Uint64())
		out = out[8:]
	}
	if len(out) > 0 {
		var last [8]byte
		binary.LittleEndian.PutUint64(last[:], math.Uint64())
		copy(out, last[:])
	}
}

func mathFills(out []byte, calls int) {
	for range calls {
		mathFill(out)
	}
}

func mathU32s(calls int) {
	for range calls {
		sink += uint64(math.Uint32())
	}
}

func mathU64s(calls int) {
	for range calls {
		sink += math.Uint64()
	}
}
