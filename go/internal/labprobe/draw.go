//go:build linux && amd64 && !purego

package main

import (
	"bufio"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"time"

	squall "github.com/squall-rng/squall/go"
	"github.com/squall-rng/squall/go/internal/aes256"
	"github.com/squall-rng/squall/go/internal/guard"
)

// Each source draws once a period, in a goroutine of its own, which Go may move between threads.

// period is the time between two requests of a source.
const period = 500 * time.Microsecond

// drawer is a source, and the channel that records what it gives.
type drawer struct {
	draw   func() output
	writer writer
}

func newDrawers(memory []uint64, plan plan) ([]drawer, error) {
	drawers := make([]drawer, 0, len(plan.Channels))
	for _, channel := range plan.Channels {
		source, err := newSource(channel.Source)
		if err != nil {
			return nil, err
		}
		drawers = append(drawers, drawer{source, newWriter(memory, channel)})
	}
	return drawers, nil
}

// drawAll draws from all sources while the lab wants records.
func drawAll(drawers []drawer, command command) {
	var all sync.WaitGroup
	for _, drawer := range drawers {
		all.Go(func() { drawer.recordAll(command) })
	}
	all.Wait()
}

// recordAll draws while the lab wants records.
func (d drawer) recordAll(command command) {
	for range time.Tick(period) {
		if !command.isRun() {
			return
		}
		d.record()
	}
}

// record draws once.
func (d drawer) record() {
	var record record
	record.askedAt = cycles()
	record.bits = d.draw()
	record.givenAt = cycles()
	policy := guard.Decide()
	record.generation, record.vmGeneration = policy.Generation(), policy.VM()
	d.writer.write(&record)
}

// cycles is the CPU's cycle counter.
func cycles() uint64 {
	var noise [3]uint64
	aes256.XORNoise(&noise, 0)
	return noise[0]
}

// The sources, which give 512 bits at a time.

// output is what a request gives.
type output [8]uint64

const outputBytes = len(output{}) * wordBytes

// newSource is the source that the lab calls so; each has state of its own.
func newSource(name string) (func() output, error) {
	switch name {
	case "go_squall":
		return ofBytes(squall.Reader), nil
	case "go_squall_words":
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
