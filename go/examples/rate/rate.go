package main

import (
	"bufio"
	"io"
	"sync"
	"time"
)

// reads describes the work of the goroutines: each reads length bytes at a time, through a buffer of its
// own if bufferSize is not 0.
type reads struct {
	source             func() io.Reader
	goroutines         int
	length, bufferSize int
}

// during reads for this time after all goroutines have started, and returns the number of bytes. With many
// goroutines it takes longer, because the end of the timer waits for its turn among them.
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

// reader returns one goroutine's reader.
func (r reads) reader() io.Reader {
	reader := r.source()
	if r.bufferSize > 0 {
		reader = bufio.NewReaderSize(reader, r.bufferSize)
	}
	return reader
}

// until reads until the channel is closed, which it checks before each read.
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
