//go:build (amd64 || (linux && arm64)) && !purego

// Package registers shows what a call left in the CPU's registers, and whether an AES key is among it.
// Only tests import it: they hold the rest of the module to what package aes256 promises.
package registers

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"unsafe"
)

// LaneLen is the length of a [Lane], in bytes: that of an AES block.
const LaneLen = 16

// Lane is 16 bytes of a vector register.
type Lane [LaneLen]byte

// File is what registers held. Without AVX-512, which nothing then uses, it has X0 to X15 only; on arm64, lane 0
// of each and no masks.
type File struct {
	// Vectors are Z0 to Z31, or V0 to V31.
	Vectors [32][4]Lane
	// Masks are K0 to K7.
	Masks [8]uint64
	// General are those of [names].
	General [len(names)]uint64
}

// patience is how often something must be there to count: another goroutine that runs in between, or
// the runtime, may leave something of its own.
const patience = 20

// Behind gives what call leaves behind when it is made last: again, as long as it leaves anything in vector
// or mask registers.
func Behind(call func()) *File {
	file := new(File)
	for range patience {
		Look(file)
		call()
		Look(file)
		if len(file.NotZero()) == 0 {
			break
		}
	}
	return file
}

// NotZero names the vector and mask registers that hold anything.
func (f *File) NotZero() (found []string) {
	for i, register := range f.Vectors {
		for j, lane := range register {
			if lane != (Lane{}) {
				found = append(found, fmt.Sprintf("vector %d, lane %d: %x", i, j, lane))
			}
		}
	}
	for i, mask := range f.Masks {
		if mask != 0 {
			found = append(found, fmt.Sprintf("K%d: %x", i, mask))
		}
	}
	return found
}

// Words names the registers that hold a word of secret, from either end, for each 8 bytes of it.
func (f *File) Words(secret []byte) (found []string) {
	held := unsafe.Slice((*byte)(unsafe.Pointer(f)), unsafe.Sizeof(*f))
	for part := range slices.Chunk(secret, 8) {
		word := binary.LittleEndian.Uint64(part)
		for at := 0; at < len(held); at += 8 {
			here := binary.LittleEndian.Uint64(held[at:])
			if here != 0 && (here == word || here == binary.BigEndian.Uint64(part)) {
				found = append(found, fmt.Sprintf("%s: %x", nameAt(at), part))
			}
		}
	}
	return found
}

// nameAt names the register whose contents are at this offset of a [File].
func nameAt(at int) string {
	var f File
	switch {
	case at < int(unsafe.Offsetof(f.Masks)):
		return fmt.Sprintf("vector %d", at/len(f.Vectors[0])/LaneLen)
	case at < int(unsafe.Offsetof(f.General)):
		return fmt.Sprintf("K%d", (at-int(unsafe.Offsetof(f.Masks)))/8)
	default:
		return names[(at-int(unsafe.Offsetof(f.General)))/8]
	}
}

// lanes gives each different value of the vectors but zero.
func (f *File) lanes() []Lane {
	var all []Lane
	for _, register := range f.Vectors {
		for _, lane := range register {
			if lane != (Lane{}) {
				all = append(all, lane)
			}
		}
	}
	slices.SortFunc(all, func(a, b Lane) int { return bytes.Compare(a[:], b[:]) })
	return slices.Compact(all)
}
