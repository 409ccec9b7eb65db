//go:build linux && (amd64 || arm64) && !purego

package aes256

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"encoding/hex"
	"testing"
)

// testKey is the key of FIPS 197 appendix A.3.
var testKey = (*[KeySize]byte)(unhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4"))

func unhex(digits string) []byte {
	bytes, err := hex.DecodeString(digits)
	if err != nil {
		panic(err)
	}
	return bytes
}

// requireEngine skips where there is no engine.
func requireEngine(tb testing.TB) {
	tb.Helper()
	if Best() == None {
		tb.Skip("this CPU or build has no AES engine")
	}
}

// roundKeys gives the round keys of key.
func roundKeys(tb testing.TB, key *[KeySize]byte) *[KeysSize]byte {
	tb.Helper()
	requireEngine(tb)
	keys := new([KeysSize]byte)
	Expand(key, keys)
	return keys
}

// xorReference XORs into dst the keystream from block number high:low on, as crypto/aes makes it.
func xorReference(tb testing.TB, key *[KeySize]byte, high, low uint64, dst []byte) {
	tb.Helper()
	block, err := aes.NewCipher(key[:])
	if err != nil {
		tb.Fatal(err)
	}
	first := blockOf(high, low)
	cipher.NewCTR(block, first[:]).XORKeyStream(dst, dst)
}

// blockOf writes high:low as a block.
func blockOf(high, low uint64) (block [BlockSize]byte) {
	binary.BigEndian.PutUint64(block[:8], high)
	binary.BigEndian.PutUint64(block[8:], low)
	return block
}

// add128 adds n to the number high:low.
func add128(high, low, n uint64) (uint64, uint64) {
	if low+n < low {
		high++
	}
	return high, low + n
}

const (
	guardSize = 64
	guardByte = 0xa5
)

// guarded is memory with guards before and behind it.
type guarded struct {
	memory []byte
	bytes  []byte
}

// newGuarded gives zeros; offset moves them away from where the allocator starts.
func newGuarded(offset, length int) guarded {
	memory := bytes.Repeat([]byte{guardByte}, offset+length+2*guardSize)
	bytes := memory[guardSize+offset:][:length]
	clear(bytes)
	return guarded{memory, bytes}
}

// isIntact reports whether no guard was written to.
func (g guarded) isIntact() bool {
	predecessor := len(g.memory) - guardSize - len(g.bytes)
	for i, b := range g.memory {
		if (i < predecessor || i >= predecessor+len(g.bytes)) && b != guardByte {
			return false
		}
	}
	return true
}
