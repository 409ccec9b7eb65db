//go:build linux && (amd64 || arm64) && !purego && !race

// The race detector leaves things of its own in registers.

package drbg

import (
	"crypto/rand"
	"fmt"
	"testing"

	"github.com/squall-rng/squall/go/internal/aes256"
	"github.com/squall-rng/squall/go/internal/registers"
)

// A generator leaves nothing of its states in registers, which signals save to memory, and no key of
// what it gave out.
func TestRegistersAreErased(t *testing.T) {
	for _, engine := range aes256.Available() {
		for _, length := range []int{16, 32, 64, 256, 4096, 16384, MaxRequest} {
			state, keys := new([SeedLen]byte), new([aes256.KeysSize]byte)
			generator := DRBG{Engine: engine, State: state, Keys: keys, Block: new([SeedLen]byte)}
			input, out := new([SeedLen]byte), make([]byte, length)
			rand.Read(state[:])
			rand.Read(input[:])
			before := new([SeedLen]byte)
			for name, call := range map[string]func(){
				"plain":      func() { generator.Generate(out, nil) },
				"with input": func() { generator.Generate(out, input) },
				"reseeded":   func() { generator.Reseed(input) },
			} {
				t.Run(fmt.Sprintf("%v/%d/%s", engine, length, name), func(t *testing.T) {
					left := registers.After(func() {
						copyBytes(before, state)
						call()
					})
					if found := left.NonZero(); len(found) > 0 {
						t.Errorf("not zero: %v", found)
					}
					for what, secret := range map[string][]byte{
						"the state": state[:], "the state before": before[:], "round keys": keys[:],
					} {
						if found := left.Words(secret); len(found) > 0 {
							t.Errorf("%s: %v", what, found)
						}
					}
				})
			}
		}
	}
}

// copyBytes copies byte by byte, because a copy of the whole would itself leave it in vector registers.
func copyBytes(to, from *[SeedLen]byte) {
	//lint:ignore S1001 not as a whole
	for i := range from {
		to[i] = from[i]
	}
}
