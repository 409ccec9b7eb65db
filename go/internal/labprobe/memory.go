//go:build linux && amd64 && !purego

package main

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The memory that the lab sees, and records in it. A record is counted after it was written, so that
// whoever stops the machine at any moment finds counted records whole.

const wordBytes = 8

// plan is how the lab's probe describes the memory, so that only research/probe defines its layout. All offsets are
// indices of little-endian words of 64 bits.
type plan struct {
	// Memory is the file that is the memory, of so many bytes.
	Memory      string `json:"memory"`
	MemoryBytes int    `json:"memory_bytes"`
	// Command is where the lab writes what it wants, and Run what it writes there for records.
	Command int    `json:"command"`
	Run     uint64 `json:"run"`
	// RecordWords is the length of a record.
	RecordWords int       `json:"record_words"`
	Channels    []channel `json:"channels"`
	// Failpoints are the names of those to activate; they may be left out.
	Failpoints []string `json:"failpoints"`
}

// channel is where one source records.
type channel struct {
	Source string `json:"source"`
	// Count is where the number of records is.
	Count int `json:"count"`
	// First is where the first record begins, of as many as Capacity.
	First    int `json:"first"`
	Capacity int `json:"capacity"`
}

func readPlan(arguments []string) (plan plan, err error) {
	if len(arguments) != 1 {
		return plan, fmt.Errorf("%d arguments, where the probe gives one", len(arguments))
	}
	if err := json.Unmarshal([]byte(arguments[0]), &plan); err != nil {
		return plan, err
	}
	return plan, plan.check()
}

// check reports whether this program knows such records, and all places are within the memory.
func (p plan) check() error {
	if p.RecordWords != recordWords {
		return fmt.Errorf("records of %d words, where there are %d", p.RecordWords, recordWords)
	}
	end := p.MemoryBytes / wordBytes
	isWithin := func(at int) bool { return 0 <= at && at < end }
	if !isWithin(p.Command) {
		return fmt.Errorf("the command is at %d, of %d words", p.Command, end)
	}
	for _, channel := range p.Channels {
		last := channel.First + channel.Capacity*recordWords - 1
		if !isWithin(channel.Count) || !isWithin(channel.First) || !isWithin(last) {
			return fmt.Errorf("%s is not within %d words", channel.Source, end)
		}
	}
	return nil
}

// mapMemory maps so many bytes of a file, for as long as the process lives.
func mapMemory(path string, bytes int) ([]uint64, error) {
	file, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	defer unix.Close(file)
	start, err := unix.MmapPtr(file, 0, nil, uintptr(bytes), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping %s: %w", path, err)
	}
	// SAFETY: the kernel has mapped so many bytes there, aligned to a page, and nothing unmaps them.
	return unsafe.Slice((*uint64)(start), bytes/wordBytes), nil
}

// record is 512 bits that a source gave, and when; in the order of research/probe.
type record struct {
	// askedAt and givenAt are the cycle counter before the request and after it.
	askedAt, givenAt uint64
	// generation is the kernel RNG's after it, and vmGeneration vmclock's; 0 where it is not shown.
	generation, vmGeneration uint64
	bits                     output
}

// recordWords is the length of a record.
const recordWords = int(unsafe.Sizeof(record{})) / wordBytes

// words is the record as it is written.
func (r *record) words() *[recordWords]uint64 {
	// SAFETY: a record is so many words and nothing else.
	return (*[recordWords]uint64)(unsafe.Pointer(r))
}

// writer writes the records of a channel, which nobody else writes.
type writer struct {
	count *uint64
	words []uint64
}

func newWriter(memory []uint64, channel channel) writer {
	words := memory[channel.First:][:channel.Capacity*recordWords]
	return writer{count: &memory[channel.Count], words: words}
}

// hasRoom reports whether another record fits.
func (w writer) hasRoom() bool {
	return (int(atomic.LoadUint64(w.count))+1)*recordWords <= len(w.words)
}

// write writes a record, if it fits.
func (w writer) write(record *record) {
	if !w.hasRoom() {
		return
	}
	count := atomic.LoadUint64(w.count)
	copy(w.words[int(count)*recordWords:], record.words()[:])
	atomic.StoreUint64(w.count, count+1)
}
