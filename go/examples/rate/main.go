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
	"fmt"
	"io"
	"os"

	"github.com/squall-rng/squall/go/examples/internal/example"
)

// megabyte is the unit of the article.
const megabyte = 1 << 20

func main() { os.Exit(example.Run("rate", run, os.Args[1:], os.Stdout, os.Stderr)) }

func run(arguments []string, out io.Writer) error {
	command := example.NewCommand("rate", example.Readers, 1, out)
	seconds := command.Float64("seconds", 10, "`time` to read, in seconds")
	length := command.Int("bytes", 32, "`length` of a read")
	buffer := command.Int("buffer", 4096, "`length` of the read buffer; 0 for none")
	if err := command.Parse(arguments); err != nil {
		return err
	}
	source, err := example.Choose(example.Readers, command.Source)
	if err != nil {
		return err
	}
	duration, err := example.Seconds("seconds", *seconds)
	if err != nil {
		return err
	}
	if err := example.Between("bytes", *length, 1, 1<<30); err != nil {
		return err
	}
	if err := example.Between("buffer", *buffer, 0, 1<<30); err != nil {
		return err
	}
	reads := reads{source, command.Goroutines, *length, *buffer}
	var bytes int64
	cost, err := example.Measure(command.Profile, func() (err error) {
		bytes, err = reads.during(duration)
		return err
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s: %.1f MB/s, goroutines: %d, reads of %d bytes, buffer of %d: %v\n", command.Source,
		float64(bytes)/megabyte/cost.Time.Seconds(), command.Goroutines, *length, *buffer, cost)
	return err
}
