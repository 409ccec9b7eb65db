//go:build linux && (amd64 || arm64) && !purego

// Package drbg is CTR_DRBG of NIST SP 800-90A Rev. 1, section 10.2.1, with AES-256 and without
// derivation function.
//
// The state is what the standard says, but for the reseed counter: key and V, 48 plain bytes. It is
// in memory that the caller gives, with room for what a request needs, so that nothing of it is ever
// on Go's heap or on a goroutine's stack, both of which leave copies behind that nobody erases. Any
// of it may be zeroed at any moment: what was made meanwhile is then worthless, which the caller
// finds out.
//
// The standard bounds a seed to 2^48 requests, which the caller keeps: no seed lasts longer than
// the kernel's, about a minute.
package drbg

import "github.com/squall-rng/squall/go/internal/aes256"

const (
	// SeedLen is the length of a seed and of the state, in bytes.
	SeedLen = aes256.XORLen
	// MaxRequest is the longest request, in bytes (SP 800-90A table 3: 2^19 bits).
	MaxRequest = 1 << 16
)

// DRBG is a generator at work. State stays; Keys and Block hold secrets until they are wiped by
// whoever owns them.
type DRBG struct {
	Engine aes256.Engine
	State  *[SeedLen]byte
	Keys   *[aes256.KeysSize]byte
	Block  *[SeedLen]byte
}

func (d *DRBG) key() *[aes256.KeySize]byte { return (*[aes256.KeySize]byte)(d.State[:]) }
func (d *DRBG) v() *[aes256.BlockSize]byte {
	return (*[aes256.BlockSize]byte)(d.State[aes256.KeySize:])
}

// Reseed mixes seed material into the state: entropy input, XORed with additional input or, for a
// state of zeros, the personalization string. For a state of zeros it is Instantiate
// (sections 10.2.1.3.1 and 10.2.1.4.1).
func (d *DRBG) Reseed(material *[SeedLen]byte) {
	aes256.Expand(d.key(), d.Keys)
	d.update(material)
}

// Generate fills out, at most MaxRequest bytes, and moves on to another key, so that what was
// returned cannot be computed from the state behind it. Additional input is none or 48 bytes
// (section 10.2.1.5.1).
func (d *DRBG) Generate(out []byte, additional *[SeedLen]byte) {
	aes256.Expand(d.key(), d.Keys)
	if additional != nil {
		d.update(additional)
		aes256.Expand(d.key(), d.Keys)
	}
	d.Engine.Keystream(d.Keys, d.v(), out)
	d.update(additional)
}

// update is CTR_DRBG_Update (section 10.2.1.2), under round keys that are expanded already.
func (d *DRBG) update(provided *[SeedLen]byte) {
	d.Engine.Keystream(d.Keys, d.v(), d.Block[:])
	aes256.XOR(d.State, d.Block, provided)
}
