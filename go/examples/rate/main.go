// Command rate is the second program of "Locking in crypto/rand" (S. Mansfield, 2016). It reads 32 bytes
// repeatedly for ten seconds, and prints megabytes a second.
//
//	go run ./examples/rate -source squall|crypto|math|syscall [-seconds 10] [-profile FILE]
//
// As in the article, one goroutine reads through bufio's buffer of 4 KiB, and checks a timer before each
// read; with math/rand it has a generator of its own, without a lock. A megabyte is 1,048,576 bytes.
//
// Differences from the article: a timer closes a channel, so that any number of goroutines can check it
// (-goroutines); and the buffer can have another length, or be left out (-buffer 0). Leave it out in your
// own programs: squall needs no buffer, and a fork or a VM clone repeats the bytes in it.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/squall-rng/squall/go/examples/internal/example"
)

// megabyte is the unit of the article.
const megabyte = 1 << 20

func main() {
	flags := example.NewFlags(example.Readers, 1)
	seconds := flag.Float64("seconds", 10, "`time` to read, in seconds")
	length := flag.Int("bytes", 32, "`length` of a read")
	buffer := flag.Int("buffer", 4096, "`length` of the read buffer; 0 for none")
	source := example.Parse(flags, example.Readers)
	const day = 24 * 60 * 60
	example.Check(*seconds > 0 && *seconds <= day, 2, "-seconds %g: write a number above 0 and up to %d", *seconds, day)
	example.Check(*length > 0, 2, "-bytes %d: write a number above 0", *length)
	example.Check(*buffer >= 0, 2, "-buffer %d: write a number, or 0 for none", *buffer)
	reads := reads{source, flags.Goroutines, *length, *buffer}
	var bytes int64
	cost := example.Measure(flags.Profile, func() { bytes = reads.during(time.Duration(*seconds * float64(time.Second))) })
	fmt.Printf("%s: %.1f MB/s, goroutines: %d, reads of %d bytes, buffer of %d: %v\n", flags.Source,
		float64(bytes)/megabyte/cost.Time.Seconds(), flags.Goroutines, *length, *buffer, cost)
}

// reads describes the work of the goroutines: each reads length bytes at a time, through a buffer of its
// own if bufferSize is not 0.
type reads struct {
	source             func() io.Reader
	goroutines         int
	length, bufferSize int
}

// during reads for this time after all goroutines have started, and returns the number of bytes. With many
// goroutines it takes longer, because the end of the timer waits for its turn among them.
func (r reads) during(duration time.Duration) (bytes int64) {
	began, ended := make(chan struct{}), make(chan struct{})
	results := make(chan int64)
	var ready sync.WaitGroup
	ready.Add(r.goroutines)
	for range r.goroutines {
		go func() {
			reader := r.reader()
			ready.Done()
			<-began
			results <- until(ended, reader, r.length)
		}()
	}
	ready.Wait()
	close(began)
	time.AfterFunc(duration, func() { close(ended) })
	for range r.goroutines {
		bytes += <-results
	}
	return bytes
}

// reader returns one goroutine's reader.
func (r reads) reader() io.Reader {
	reader := r.source()
	if r.bufferSize > 0 {
		reader = bufio.NewReaderSize(reader, r.bufferSize)
	}
	return reader
}

// until reads until the channel is closed, which it checks before each read, and returns the number of bytes. It
// ends the program if there are no random bytes, as crypto/rand does.
func until(ended <-chan struct{}, reader io.Reader, length int) (bytes int64) {
	out := make([]byte, length)
	for {
		select {
		case <-ended:
			return bytes
		default:
			n, err := reader.Read(out)
			if err != nil {
				panic(err)
			}
			bytes += int64(n)
		}
	}
}
