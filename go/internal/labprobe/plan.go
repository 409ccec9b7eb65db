//go:build linux && amd64 && !purego

package main

import (
	"encoding/json"
	"fmt"
)

// The lab's probe describes the memory, so that only research/probe defines its layout. All offsets are
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
	// Failpoints are the names of those to activate, and GapCycles a gap that is not the usual one; both
	// may be left out (see setGuards).
	Failpoints []string `json:"failpoints"`
	GapCycles  uint64   `json:"gap_cycles"`
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
