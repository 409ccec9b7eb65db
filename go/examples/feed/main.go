// Command feed is the first program of "Locking in crypto/rand" (S. Mansfield, 2016): ten goroutines
// make values and hand them to ten others, through one channel without a buffer.
//
//	go run ./examples/feed -source squall|crypto|math|syscall|squall-source [-profile FILE]
//
// The article's: a value is of random length below 10,000 and of random letters; each goroutine makes
// 9,999 of them; by crypto/rand the letters are one read, its bytes modulo 26, and by math/rand each
// letter is drawn by itself.
//
// Chosen here: by math/rand the lengths are below 10,000 too, where the article's were half as long;
// it prints the time of one run, where the article's printed the mean of ten under a profile; there is
// a profile only if it is asked for. math is math/rand as it is today: its functions share no lock
// since Go 1.20. syscall is what crypto/rand was then. squall-source draws each letter by itself,
// from rand.New(squall.Source()) in the place of math/rand.
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
	values := command.Int("values", 9_999, "`how many` values each goroutine makes")
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
	var handed taken
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
