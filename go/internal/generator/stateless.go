//go:build !linux || (!amd64 && !arm64) || purego

// Package generator keeps no state in this build: the assembly that protects state is for Linux on AMD64 and
// arm64. The operating system serves each request.
package generator

import (
	"unsafe"

	"github.com/squall-rng/squall/go/internal/kernel"
)

// Fill fills out with random bytes.
func Fill(out []byte) { kernel.Fill(out) }

// Fresh fills out like [Fill]; on Linux always by a system call.
func Fresh(out []byte) { kernel.FillFresh(out) }

// Word returns a random word.
func Word() (word uint64) {
	// SAFETY: any bytes are a word.
	kernel.Fill(unsafe.Slice((*byte)(unsafe.Pointer(&word)), unsafe.Sizeof(word)))
	return word
}

// SimulationWord is the same as [Word].
func SimulationWord() uint64 { return Word() }
