package main

import (
	"io"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/squall-rng/squall/go/examples/internal/example"
)

func TestEverySourceHasARate(t *testing.T) {
	for name, source := range example.Readers {
		for _, c := range []struct{ goroutines, buffer int }{{1, 4096}, {1, 0}, {1000, 4096}} {
			began := time.Now()
			bytes := reads{source, c.goroutines, 32, c.buffer}.during(50 * time.Millisecond)
			if bytes == 0 || bytes%32 != 0 || time.Since(began) < 50*time.Millisecond {
				t.Errorf("%s, %+v: %d bytes in %v", name, c, bytes, time.Since(began))
			}
		}
	}
}

// counting counts the bytes that are read.
type counting struct{ bytes atomic.Int64 }

func (c *counting) Read(b []byte) (int, error) {
	c.bytes.Add(int64(len(b)))
	return len(b), nil
}

// The bytes that are counted are those that were read.
func TestBytesAreCounted(t *testing.T) {
	var reader counting
	reads := reads{func() io.Reader { return &reader }, 3, 1000, 0}
	if bytes := reads.during(time.Millisecond); bytes != reader.bytes.Load() {
		t.Errorf("%d bytes of %d", bytes, reader.bytes.Load())
	}
}

// A source that fails ends the program.
func TestReadsEndTheProgramWithoutBytes(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("bytes of a source that has none")
		}
	}()
	until(nil, iotest.ErrReader(io.ErrUnexpectedEOF), 32)
}
