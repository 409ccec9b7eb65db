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
	"encoding/binary"
	"flag"
	"fmt"
	"io"
	math "math/rand"
	"math/rand/v2"
	"sync"

	squall "github.com/squall-rng/squall/go"
	"github.com/squall-rng/squall/go/examples/internal/example"
)

func main() {
	sources := makers()
	flags := example.NewFlags(sources, 10)
	values := flag.Int("values", 9_999, "`number` of values that each goroutine makes")
	maker := example.Parse(flags, sources)
	example.Check(*values > 0, 2, "-values %d: write a number above 0", *values)
	var handed totals
	cost := example.Measure(flags.Profile, func() { handed = feed(maker, flags.Goroutines, *values) })
	fmt.Printf("%s: %d values, %d letters, goroutines: %d to %d: %v\n",
		flags.Source, handed.values, handed.letters, flags.Goroutines, flags.Goroutines, cost)
}

// totals counts the values and letters that goroutines took from the channel.
type totals struct{ values, letters int64 }

// feed starts a number of goroutines that make values each, and the same number that take them.
func feed(maker func() text, goroutines, values int) totals {
	channel := make(chan []byte)
	sums := make(chan totals)
	var makers sync.WaitGroup
	for range goroutines {
		makers.Go(func() {
			text := maker()
			for range values {
				channel <- text()
			}
		})
		go func() {
			var sum totals
			for value := range channel {
				sum.values++
				sum.letters += int64(len(value))
			}
			sums <- sum
		}()
	}
	makers.Wait()
	close(channel)
	var all totals
	for range goroutines {
		sum := <-sums
		all.values += sum.values
		all.letters += sum.letters
	}
	return all
}

// bound is the exclusive upper bound of a value's length.
const bound = 10_000

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

// text makes a value.
type text func() []byte

// makers has, by the name of a source, a function that returns one goroutine's text maker.
func makers() map[string]func() text {
	all := map[string]func() text{}
	for name, reader := range example.Readers {
		all[name] = func() text { return byBytes(reader()) }
	}
	all["math"] = func() text { return byLetters(math.Intn) }
	all["squall-source"] = func() text { return byLetters(rand.New(squall.Source()).IntN) }
	return all
}

// byBytes reads the length, and then all letters at once.
func byBytes(reader io.Reader) text {
	length := make([]byte, 4)
	return func() []byte {
		fill(reader, length)
		value := make([]byte, binary.LittleEndian.Uint32(length)%bound)
		fill(reader, value)
		for i, b := range value {
			value[i] = alphabet[b%uint8(len(alphabet))]
		}
		return value
	}
}

// fill ends the program if there are no random bytes, as crypto/rand does.
func fill(reader io.Reader, b []byte) {
	if _, err := io.ReadFull(reader, b); err != nil {
		panic(err)
	}
}

// byLetters draws the length, and then each letter separately.
func byLetters(below func(int) int) text {
	return func() []byte {
		value := make([]byte, below(bound))
		for i := range value {
			value[i] = alphabet[below(len(alphabet))]
		}
		return value
	}
}
