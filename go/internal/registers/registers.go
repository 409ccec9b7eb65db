//go:build linux && (amd64 || arm64) && !purego

// Package registers shows the contents of the CPU's registers after a call, and finds words of secrets in them. And it runs
// tests with changed assembly, for controls. Only tests import it: they check what package aes256 promises.
package registers

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"unsafe"
)

// LaneLen is the length of a [Lane], in bytes: that of an AES block.
const LaneLen = 16

// Lane is 16 bytes of a vector register.
type Lane [LaneLen]byte

// File has the contents of registers. Without AVX-512, which no code uses then, it has only Y0 to Y15, and without AVX
// only X0 to X15. On arm64 it has only lane 0 of each vector register, and no masks.
type File struct {
	// Vectors are Z0 to Z31, or V0 to V31.
	Vectors [32][4]Lane
	// Masks are K0 to K7.
	Masks [8]uint64
	// General are those of [names].
	General [len(names)]uint64
}

// patience is the number of attempts: another goroutine that runs in between, or the runtime, may leave
// values of its own.
const patience = 20

// After returns the registers after a call. It repeats the call while that leaves anything in vector or mask
// registers.
func After(call func()) *File {
	file := new(File)
	for range patience {
		Look(file)
		call()
		Look(file)
		if len(file.NonZero()) == 0 {
			break
		}
	}
	return file
}

// Copy copies byte by byte, because a copy of words would itself leave them in registers.
func Copy(to, from []byte) {
	//lint:ignore S1001 copy moves words
	for i := range from {
		to[i] = from[i]
	}
}

// NonZero names the vector and mask registers that hold anything.
func (f *File) NonZero() (found []string) {
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

// TestReplacing runs go test with these arguments, in a build with these texts in the place of files, by their paths. It
// returns what the tests say.
func TestReplacing(t *testing.T, texts map[string][]byte, arguments ...string) (output string, err error) {
	t.Helper()
	scratch := t.TempDir()
	write := func(name string, content []byte) (path string) {
		path = filepath.Join(scratch, name)
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	replaced := map[string]string{}
	for path, text := range texts {
		original, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		replaced[original] = write(filepath.Base(path), text)
	}
	replacements, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		t.Fatal(err)
	}
	overlay := write("overlay.json", replacements)
	arguments = append([]string{"test", "-overlay", overlay, "-vet=off", "-count=1"}, arguments...)
	said, err := exec.CommandContext(t.Context(), "go", arguments...).CombinedOutput()
	return string(said), err
}
