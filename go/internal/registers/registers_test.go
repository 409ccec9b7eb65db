//go:build linux && (amd64 || arm64) && !purego

package registers

import (
	"crypto/aes"
	"crypto/rand"
	"encoding/binary"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/squall-rng/squall/go/internal/aes256"
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

// Any two round keys that follow each other are enough, wherever they are.
func TestTwoRoundKeysAreAKey(t *testing.T) {
	if aes256.Best() == aes256.None {
		t.Skip("no engine")
	}
	var key [aes256.KeySize]byte
	rand.Read(key[:])
	block, err := aes.NewCipher(key[:])
	if err != nil {
		t.Fatal(err)
	}
	keystream := make([]byte, 2*LaneLen)
	block.Encrypt(keystream, []byte("number 15 bytes0"))
	block.Encrypt(keystream[LaneLen:], []byte("number 15 bytes1"))
	var keys [aes256.KeysSize]byte
	aes256.Expand(&key, &keys)
	for round := range lastRound {
		var file File
		for i := range 20 {
			rand.Read(file.Vectors[i][i%4][:])
		}
		file.Vectors[31][3], file.Vectors[2][1] = Lane(keys[16*round:]), Lane(keys[16*round+16:])
		if found, ok := file.Key(keystream); !ok || found != key {
			t.Errorf("round keys %d and %d: not found", round, round+1)
		}
		file.Vectors[2][1][5] ^= 1
		if _, ok := file.Key(keystream); ok {
			t.Errorf("round keys %d and %d, one of them wrong: found a key", round, round+1)
		}
	}
}
