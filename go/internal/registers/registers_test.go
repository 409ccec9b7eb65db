//go:build linux && (amd64 || arm64) && !purego

package registers

import (
	"crypto/rand"
	"encoding/binary"
	"runtime"
	"slices"
	"testing"
	"unsafe"
)

// Look captures every register, and clears it.
func TestLookSeesEveryRegister(t *testing.T) {
	var put, got, after File
	registers, lanes := registerCount()
	for i := range registers {
		for j := range lanes {
			rand.Read(put.Vectors[i][j][:])
		}
	}
	if runtime.GOARCH == "amd64" {
		put.Vectors[15][0] = Lane{} // Go's, which it sets to zero behind each function of assembly
	}
	if lanes > 1 {
		for i := range put.Masks {
			put.Masks[i] = uint64(i)*0x0101010101010101 + 1
		}
	}
	// Another goroutine in between may change some, but not each time.
	isSeen := func() bool {
		load(&put)
		Look(&got)
		Look(&after)
		return got.Vectors == put.Vectors && got.Masks == put.Masks && len(after.NonZero()) == 0
	}
	if !slices.ContainsFunc(make([]int, patience), func(int) bool { return isSeen() }) {
		t.Errorf("put %v, found %v, then %v", put.NonZero(), got.NonZero(), after.NonZero())
	}
}

// A word of a secret is found in every register, whichever end is first.
func TestWordsOfSecretsAreFound(t *testing.T) {
	secret := []byte("one word. another")[:16]
	for at := range unsafe.Sizeof(File{}) / 8 {
		for _, word := range []uint64{binary.LittleEndian.Uint64(secret[8:]), binary.BigEndian.Uint64(secret[8:])} {
			var file File
			*(*uint64)(unsafe.Add(unsafe.Pointer(&file), 8*at)) = word
			if len(file.Words(secret)) != 1 {
				t.Errorf("not found in %s", nameAt(int(8*at)))
			}
		}
	}
	if found := new(File).Words(make([]byte, 16)); found != nil {
		t.Errorf("zeros are no secret: %v", found)
	}
}
