//go:build linux && amd64 && !purego

package main

import (
	"bufio"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"

	squall "github.com/squall-rng/squall/go"
)

// The sources, which give 512 bits at a time.

// output is what a request gives.
type output [8]uint64

const outputBytes = len(output{}) * wordBytes

// newSource is the source that the lab calls so; each has state of its own.
func newSource(name string) (func() output, error) {
	switch name {
	case "go_squall":
		return ofBytes(squall.Reader), nil
	case "go_squall_words", "go_squall_bursts", "go_squall_endless_bursts":
		return squallWords, nil
	case "go_crypto_rand":
		return ofBytes(rand.Reader), nil
	case "go_naive":
		return ofBytes(naive()), nil
	default:
		return nil, fmt.Errorf("no source is called %q", name)
	}
}

// ofBytes asks a reader for all at once.
func ofBytes(reader io.Reader) func() output {
	return func() (out output) {
		var bytes [outputBytes]byte
		if _, err := io.ReadFull(reader, bytes[:]); err != nil {
			panic(err)
		}
		for i := range out {
			out[i] = binary.LittleEndian.Uint64(bytes[i*wordBytes:])
		}
		return out
	}
}

// squallWords asks squall for a number at a time.
func squallWords() (out output) {
	for i := range out {
		out[i] = squall.Uint64()
	}
	return out
}

// naiveBytes is more than is drawn in an experiment: a clone must find some that are left.
const naiveBytes = 1 << 20

// naive keeps bytes of crypto/rand and hands them out, as programs do for speed: clones of it have the
// same bytes.
func naive() io.Reader { return bufio.NewReaderSize(rand.Reader, naiveBytes) }
