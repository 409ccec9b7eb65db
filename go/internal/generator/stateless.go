//go:build !linux || (!amd64 && !arm64) || purego

// Package generator keeps no state in this build: the assembly that keeps it safe is for Linux on AMD64 and
// arm64. Each request is one to the operating system.
package generator

import (
	"unsafe"

	"github.com/squall-rng/squall/go/internal/kernel"
)

// Fill fills out with random bytes.
func Fill(out []byte) { kernel.Fill(out) }

// Fresh fills out as [Fill] does; on Linux always by a system call.
func Fresh(out []byte) { kernel.FillFresh(out) }

// Word is a random word.
func Word() (word uint64) {
	// SAFETY: any bytes are a word.
	kernel.Fill(unsafe.Slice((*byte)(unsafe.Pointer(&word)), unsafe.Sizeof(word)))
	return word
}

// SimulationWord is [Word].
func SimulationWord() uint64 { return Word() }

// Now is what this build gives.
func Now() Status { return withoutState }
