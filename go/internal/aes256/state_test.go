//go:build linux && amd64 && !purego

package aes256_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/squall-rng/squall/go/internal/aes256"
	"github.com/squall-rng/squall/go/internal/drbg"
)

// The state of a generator does not stay in vector registers, which signals save to memory.
func TestNoStateStaysInVectorRegisters(t *testing.T) {
	if !slices.Contains(aes256.Available(), aes256.VAES512) {
		t.Skip("SKIP: this CPU has no 512-bit registers, so the code that looks at them can't run")
	}
	state := new([drbg.SeedLen]byte)
	generator := drbg.DRBG{
		Engine: aes256.Best(), State: state, Keys: new([aes256.KeysSize]byte), Block: new([drbg.SeedLen]byte),
	}
	input, out := &[drbg.SeedLen]byte{1, 2, 3}, make([]byte, 300)
	cases := map[string]func(){
		"reseed":   func() { generator.Reseed(input) },
		"generate": func() { generator.Generate(out, nil) },
		"hedged":   func() { generator.Generate(out, input) },
	}
	for name, call := range cases {
		for range 20 {
			if left := parts(call, state); left != 0 {
				t.Errorf("%s: %d words of the state are in registers", name, left)
				break
			}
		}
	}
	// The control: a copy of the state as Go makes it is found.
	copied := new([drbg.SeedLen]byte)
	found := 0
	for range 20 {
		found = max(found, parts(func() { *copied = *state }, state))
	}
	if found == 0 {
		t.Error("a copied state is not found in registers: this shows nothing")
	}
}

// parts counts words of the state that are in vector registers after call.
func parts(call func(), state *[drbg.SeedLen]byte) (count int) {
	registers := new([2048]byte)
	call()
	aes256.Vectors(registers)
	for word := range slices.Chunk(state[:], 8) {
		if bytes.Contains(registers[:], word) {
			count++
		}
	}
	return count
}
