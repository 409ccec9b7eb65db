package main

import (
	"encoding/binary"
	"io"
	math "math/rand"
	"math/rand/v2"

	squall "github.com/squall-rng/squall/go"
	"github.com/squall-rng/squall/go/examples/internal/example"
)

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
