// Command feed is the first program of "Locking in crypto/rand" (S. Mansfield, 2016): ten goroutines
// make values and hand them to ten others, through one channel without a buffer.
//
//	go run ./examples/feed -source squall|crypto|math|syscall|squall-source [-profile FILE]
//
// As in the article, a value has a random length below 10,000 and random letters, and each goroutine makes
// 9,999 values. With crypto/rand the letters come from one read, its bytes modulo 26; with math/rand each
// letter is drawn separately.
//
// Differences from the article: with math/rand the lengths are below 10,000 too, where the article's were
// half as long; the program prints the time of one run, where the article's printed the mean of ten under a
// profile; a profile is written only on request. math is today's math/rand, whose functions share no lock
// since Go 1.20. syscall is crypto/rand of that time. squall-source draws each letter separately, from
// rand.New(squall.Source()) instead of math/rand.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/squall-rng/squall/go/examples/internal/example"
)

func main() { os.Exit(example.Run("feed", run, os.Args[1:], os.Stdout, os.Stderr)) }

func run(arguments []string, out io.Writer) error {
	sources := makers()
	command := example.NewCommand("feed", sources, 10, out)
	values := command.Int("values", 9_999, "`number` of values that each goroutine makes")
	if err := command.Parse(arguments); err != nil {
		return err
	}
	maker, err := example.Choose(sources, command.Source)
	if err != nil {
		return err
	}
	if err := example.Between("values", *values, 1, 1_000_000_000); err != nil {
		return err
	}
	var handed totals
	cost, err := example.Measure(command.Profile, func() error {
		handed = feed(maker, command.Goroutines, *values)
		return nil
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s: %d values, %d letters, goroutines: %d to %d: %v\n",
		command.Source, handed.values, handed.letters, command.Goroutines, command.Goroutines, cost)
	return err
}
