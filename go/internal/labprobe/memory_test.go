//go:build linux && amd64 && !purego

package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// numbered is a record whose words are first and those that follow it.
func numbered(first uint64) *record {
	r := &record{askedAt: first, givenAt: first + 1, generation: first + 2, vmGeneration: first + 3}
	for i := range r.bits {
		r.bits[i] = first + 4 + uint64(i)
	}
	return r
}

func TestRecordsFollowEachOtherUntilTheChannelIsFull(t *testing.T) {
	const first, capacity = 5, 3
	memory := make([]uint64, first+(capacity+1)*recordWords)
	writer := newWriter(memory, channel{Count: 2, First: first, Capacity: capacity})
	for i := range uint64(capacity + 2) {
		writer.write(numbered(1 + i*uint64(recordWords)))
	}
	if memory[2] != capacity {
		t.Errorf("%d records are counted, not %d", memory[2], capacity)
	}
	for i, word := range memory[first : first+capacity*recordWords] {
		if word != uint64(i)+1 {
			t.Fatalf("word %d is %d", i, word)
		}
	}
	if behind := memory[first+capacity*recordWords:]; slices.Max(behind) != 0 {
		t.Error("something was written behind the channel")
	}
}

func TestMappedMemoryIsTheFile(t *testing.T) {
	const bytes = 1 << 16
	path := filepath.Join(t.TempDir(), "memory")
	if err := os.WriteFile(path, make([]byte, bytes), 0o600); err != nil {
		t.Fatal(err)
	}
	memory, err := mapMemory(path, bytes)
	if err != nil {
		t.Fatal(err)
	}
	if len(memory) != bytes/wordBytes {
		t.Fatalf("%d words", len(memory))
	}
	memory[1] = 0x0807060504030201
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := []byte{1, 2, 3, 4, 5, 6, 7, 8}; !slices.Equal(file[8:16], want) {
		t.Errorf("the file has %v", file[8:16])
	}
}
