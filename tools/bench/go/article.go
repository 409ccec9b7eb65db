package main

import (
	"bufio"
	crypto "crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	v1 "math/rand"
	v2 "math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// parties is how many goroutines make strings, and how many take them.
	parties = 10
	// bound is above the length of every string.
	bound = 10000
)

// pipeline hands strings of random letters from ten goroutines to ten others, through one channel
// without a buffer: nanoseconds a string.
func pipeline(name string, each int) (float64, error) {
	text, err := textNamed(name)
	if err != nil {
		return 0, err
	}
	start, values := make(chan struct{}), make(chan []byte)
	var producers, consumers sync.WaitGroup
	var received, letters atomic.Int64
	producers.Add(parties)
	consumers.Add(parties)
	for range parties {
		go func() {
			defer producers.Done()
			<-start
			for range each {
				values <- text()
			}
		}()
		go func() {
			defer consumers.Done()
			var count, sum int64
			<-start
			for value := range values {
				count++
				sum += int64(len(value))
			}
			received.Add(count)
			letters.Add(sum)
		}()
	}
	clock := time.Now()
	close(start)
	producers.Wait()
	close(values)
	consumers.Wait()
	elapsed := time.Since(clock)
	count := float64(received.Load())
	mean := float64(letters.Load()) / count
	if int(count) != each*parties || count >= 1000 && (mean < 0.4*bound || mean > 0.6*bound) {
		return 0, errors.New("strings are missing, or their lengths are not random")
	}
	return float64(elapsed.Nanoseconds()) / count, nil
}

// textNamed is a function that makes a string of random length.
func textNamed(name string) (func() []byte, error) {
	switch name {
	case "crypto":
		return cryptoText, nil
	case "math":
		return func() []byte { return lettersOf(v2.IntN) }, nil
	case "math-v1":
		locked := v1.New(&lockedSource{source: v1.NewSource(1)})
		return func() []byte { return lettersOf(locked.Intn) }, nil
	}
	return nil, errors.New("no such source: " + name)
}

// cryptoText draws the length, and then all letters at once.
func cryptoText() []byte {
	var length [4]byte
	cryptoFill(length[:])
	text := make([]byte, binary.LittleEndian.Uint32(length[:])%bound)
	cryptoFill(text)
	for i := range text {
		text[i] = 'A' + text[i]%26
	}
	return text
}

// lettersOf draws the length, and then each letter.
func lettersOf(below func(int) int) []byte {
	text := make([]byte, below(bound))
	for i := range text {
		text[i] = byte('A' + below(26))
	}
	return text
}

// lockedSource is what was behind the functions of math/rand until Go 1.20.
type lockedSource struct {
	lock   sync.Mutex
	source v1.Source
}

func (s *lockedSource) Int63() int64 {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.source.Int63()
}

func (s *lockedSource) Seed(seed int64) { s.source.Seed(seed) }

// rate reads 32 bytes again and again, through a buffer of 4 KiB, at least once and until a timer
// fires: nanoseconds a read.
func rate(name string, duration time.Duration) (float64, error) {
	reader := map[string]io.Reader{
		"crypto": crypto.Reader, "math": mathReader{},
	}[name]
	if reader == nil {
		return 0, errors.New("no such source: " + name)
	}
	buffered, out, total := bufio.NewReader(reader), make([]byte, 32), 0
	clock := time.Now()
	for end := time.After(duration); ; {
		n, err := buffered.Read(out)
		if err != nil {
			return 0, err
		}
		total += n
		select {
		case <-end:
			elapsed := time.Since(clock)
			return float64(elapsed.Nanoseconds()) * float64(len(out)) / float64(total), nil
		default:
		}
	}
}

// mathReader gives the bytes of math/rand/v2.
type mathReader struct{}

func (mathReader) Read(out []byte) (int, error) {
	mathFill(out)
	return len(out), nil
}
