package main

import (
	"bufio"
	crypto "crypto/rand"
	"errors"
	"io"
	v1 "math/rand"
	"time"
)

// rate reads 32 bytes again and again, through a buffer of 4 KiB, until a timer fires:
// nanoseconds a read.
func rate(name string, duration time.Duration) (float64, error) {
	reader, err := readerNamed(name)
	if err != nil {
		return 0, err
	}
	buffered := bufio.NewReader(reader)
	out := make([]byte, 32)
	total := 0
	clock := time.Now()
	end := time.After(duration)
	for {
		select {
		case <-end:
			elapsed := time.Since(clock)
			return float64(elapsed.Nanoseconds()) * float64(len(out)) / float64(total), nil
		default:
			n, err := buffered.Read(out)
			if err != nil {
				return 0, err
			}
			total += n
		}
	}
}

func readerNamed(name string) (io.Reader, error) {
	switch name {
	case "crypto":
		return crypto.Reader, nil
	case "math":
		return mathReader{}, nil
	case "math-v1":
		return sevenBytes{v1.NewSource(42)}, nil
	}
	return nil, errors.New("no such source: " + name)
}

// mathReader gives the bytes of math/rand/v2.
type mathReader struct{}

func (mathReader) Read(out []byte) (int, error) {
	mathFill(out)
	return len(out), nil
}

// sevenBytes takes seven bytes of each of a generator's numbers, which have 63 bits.
type sevenBytes struct {
	source v1.Source
}

func (s sevenBytes) Read(out []byte) (int, error) {
	for i := 0; i < len(out); {
		number := s.source.Int63()
		for end := min(i+7, len(out)); i < end; i++ {
			out[i] = byte(number)
			number >>= 8
		}
	}
	return len(out), nil
}
