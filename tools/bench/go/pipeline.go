package main

import (
	crypto "crypto/rand"
	"encoding/binary"
	"errors"
	v1 "math/rand"
	v2 "math/rand/v2"
	"sync"
	"time"
)

const (
	// parties is how many produce, and how many consume.
	parties = 10
	// bound is what the length of a string is below.
	bound = 10000
)

// pipeline hands strings of random letters from ten goroutines to ten others, through one channel
// without a buffer: nanoseconds a string.
func pipeline(name string, each int) (float64, error) {
	text, err := textNamed(name)
	if err != nil {
		return 0, err
	}
	start := make(chan struct{})
	values := make(chan []byte)
	var producers, consumers sync.WaitGroup
	var lock sync.Mutex
	var received, letters int
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
			var count, sum int
			<-start
			for value := range values {
				count++
				sum += len(value)
			}
			lock.Lock()
			defer lock.Unlock()
			received += count
			letters += sum
		}()
	}
	clock := time.Now()
	close(start)
	producers.Wait()
	close(values)
	consumers.Wait()
	elapsed := time.Since(clock)
	if received != each*parties || !plausible(received, letters) {
		return 0, errors.New("strings are missing, or not of random lengths")
	}
	return float64(elapsed.Nanoseconds()) / float64(received), nil
}

// plausible is whether so many strings have about as many letters as they should; of a few,
// anything is.
func plausible(values, letters int) bool {
	mean := float64(letters) / float64(values)
	return values < 1000 || (mean > 0.8*bound/2 && mean < 1.2*bound/2)
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
	read(length[:])
	text := make([]byte, binary.LittleEndian.Uint32(length[:])%bound)
	read(text)
	for i := range text {
		text[i] = 'A' + text[i]%26
	}
	return text
}

func read(out []byte) {
	if _, err := crypto.Read(out); err != nil {
		fail(err)
	}
}

// lettersOf draws the length, and then each letter.
func lettersOf(below func(int) int) []byte {
	text := make([]byte, below(bound))
	for i := range text {
		text[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[below(26)]
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
	n := s.source.Int63()
	s.lock.Unlock()
	return n
}

func (s *lockedSource) Seed(seed int64) {
	s.lock.Lock()
	s.source.Seed(seed)
	s.lock.Unlock()
}
