package main

import (
	"bufio"
	"io"
	"sync"
	"time"
)

// reads is what goroutines do: each reads so many bytes at a time, through a buffer of its own if it
// has a length.
type reads struct {
	source             func() io.Reader
	goroutines         int
	length, bufferSize int
}

// during reads for so long, once all goroutines are there: how many bytes there were. It takes longer
// where goroutines are many, as what ends them waits for its turn among them.
func (r reads) during(duration time.Duration) (int64, error) {
	type result struct {
		bytes int64
		err   error
	}
	began, ended := make(chan struct{}), make(chan struct{})
	results := make(chan result)
	var ready sync.WaitGroup
	ready.Add(r.goroutines)
	for range r.goroutines {
		go func() {
			reader := r.reader()
			ready.Done()
			<-began
			bytes, err := until(ended, reader, r.length)
			results <- result{bytes, err}
		}()
	}
	ready.Wait()
	close(began)
	time.AfterFunc(duration, func() { close(ended) })
	var all result
	for range r.goroutines {
		one := <-results
		all.bytes += one.bytes
		if one.err != nil {
			all.err = one.err
		}
	}
	return all.bytes, all.err
}

// reader is one goroutine's.
func (r reads) reader() io.Reader {
	reader := r.source()
	if r.bufferSize > 0 {
		reader = bufio.NewReaderSize(reader, r.bufferSize)
	}
	return reader
}

// until is one goroutine's reads, with a look at the channel before each.
func until(ended <-chan struct{}, reader io.Reader, length int) (int64, error) {
	out := make([]byte, length)
	var bytes int64
	for {
		select {
		case <-ended:
			return bytes, nil
		default:
			n, err := reader.Read(out)
			if err != nil {
				return bytes, err
			}
			bytes += int64(n)
		}
	}
}
