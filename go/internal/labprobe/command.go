//go:build linux && amd64 && !purego

package main

import (
	"sync/atomic"
	"time"
)

// The word of the memory that the lab writes and this program reads: what is wanted.

type command struct {
	word *uint64
	// run is what it is while the lab wants records.
	run uint64
}

func (c command) isRun() bool { return atomic.LoadUint64(c.word) == c.run }

// await waits until the lab wants records.
func (c command) await() {
	for !c.isRun() {
		time.Sleep(time.Millisecond)
	}
}
