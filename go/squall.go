// Package squall gives cryptographic random bytes at the speed of the CPU's AES units: without a
// system call, without a lock, never older than the kernel's own state, not repeated by forks and VM
// clones.
//
//	squall.Read(key[:])                  // as crypto/rand.Read: never fails, always fills
//	n := squall.Uint64()
//	token := squall.Text()
//	dice := rand.New(squall.Source())    // math/rand/v2: IntN, Shuffle, Perm, secure
//	cryptorand.Reader = squall.Reader    // crypto/rand
//
// # Which should I use
//
//   - Keys, nonces, tokens, salts: [Read], [Bytes], [Text]. Of the same strength as crypto/rand, and
//     faster where many are drawn.
//   - Numbers in a range, shuffles, floats: rand.New(squall.[Source]()) of math/rand/v2.
//   - Long-lived keys, once in a while: [Fresh], or crypto/rand itself: there is nothing to be gained.
//   - Words for hash seeds, sampling, jitter: [Uint64], [Uint32]. Not for keys, tokens or nonces: a VM clone
//     that is notified late may repeat them.
//   - Repeatable simulations: math/rand/v2 with a seed of your own; squall cannot be seeded.
//   - On systems other than Linux on AMD64, on CPUs without AES instructions, where no memory is emptied
//     by a fork, and with the build tag purego, all of this is crypto/rand, at its speed.
//
// # What it promises
//
// Every request is served by CTR_DRBG with AES-256 (NIST SP 800-90A Rev. 1, section 10.2.1), seeded by the
// kernel's RNG, with a security strength of 256 bits. Where a VM clone is notified late that it is one
// ([State].CloneGuard "vmgenid"), requests of up to 256 bytes get a request pad: they return CTR_DRBG's
// output XORed with another keystream, of AES-256 in counter mode under a key that CTR_DRBG gave. The state
// is never older than the kernel's own: each request checks the generation that the kernel's RNG is in,
// after it has read its bytes and before it gives them out; before Linux 6.11, which shows none, a seed
// lasts 60 seconds ([State].ReseedGuard). The state is in memory outside of Go's heap that a fork empties,
// that is not dumped, nor swapped where it can be locked, and in which what was given out is erased
// (backtracking resistance). A restored VM snapshot does not repeat what its sibling gives out: see [Status]
// for how that is known on this machine, and SECURITY.md for what remains.
//
// All functions may be called by any number of goroutines at once. None waits for another.
//
// # crypto/rand.Reader
//
// After crypto/rand.Reader = squall.Reader these draw from squall, in Go 1.26, and a test looks that
// they do: crypto/rand.Read, Text and Int; the hellos, session identifiers and tickets of crypto/tls;
// ed25519.GenerateKey, rsa.SignPSS and rsa.EncryptOAEP when they are given the reader; and all of
// others' code that reads from it. These ignore the reader they are given, and ask the kernel:
// crypto/rand.Prime, keys and signatures of crypto/ecdsa, keys of crypto/ecdh and crypto/rsa, and so
// the key exchange of crypto/tls; unless GODEBUG=cryptocustomrand=1 is set.
// math/rand and math/rand/v2 have generators of their own.
package squall

import (
	"encoding/binary"
	"io"
	"math/rand/v2"

	"github.com/squall-rng/squall/go/internal/generator"
)

// Reader is an io.Reader of random bytes that never fails and always fills what it is given.
var Reader io.Reader = reader{}

type reader struct{}

func (reader) Read(b []byte) (int, error) { return Read(b) }

// Read fills b with random bytes. The error is always nil, and n is len(b).
func Read(b []byte) (n int, err error) {
	generator.Fill(b)
	return len(b), nil
}

// Fill fills b with random bytes.
func Fill(b []byte) { generator.Fill(b) }

// Fresh fills b from generators that are used once: each 64 KiB are seeded by new output of the kernel's
// RNG, through a system call, with additional input from the CPU, and nothing is kept afterwards. No state
// that leaks, before or after, tells what Fresh returned.
//
// This is not prediction resistance in the sense of SP 800-90A, which requires fresh entropy for each
// request. The kernel's RNG is itself a deterministic generator, reseeded about once a minute, so the bytes
// are as fresh as its last reseed.
//
// Up to 4 KiB take about a microsecond, and each 64 KiB about six, on an AMD EPYC with VAES.
func Fresh(b []byte) { generator.Fresh(b) }

// Bytes returns n random bytes. It panics if n is negative.
func Bytes(n int) []byte {
	b := make([]byte, n)
	generator.Fill(b)
	return b
}

// Uint32 returns a random number of 32 bits.
//
// Where a VM clone is notified late that it is one ([State].CloneGuard "vmgenid"), two clones may be given the same
// number within the kernel's tick in which the machine was stopped. Use [Read] for keys, tokens and nonces.
func Uint32() uint32 { return uint32(generator.Word()) }

// Uint64 returns a random number of 64 bits; what [Uint32] says of clones is true of it too.
func Uint64() uint64 { return generator.Word() }

// textLen is how many characters of 5 bits give at least 128 bits.
const textLen = 26

// Text returns 26 random characters of the base32 alphabet of RFC 4648, as crypto/rand.Text does: 130
// bits, which nobody can guess.
func Text() string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	var text [textLen]byte
	generator.Fill(text[:])
	for i, b := range text {
		text[i] = alphabet[b%uint8(len(alphabet))]
	}
	return string(text[:])
}

// Source returns a source for math/rand/v2: rand.New(squall.Source()) has its IntN, Perm, Shuffle and
// the rest, from bytes that nobody can predict. It has no state and may be shared, as may such a
// rand.Rand. Its words are drawn as bytes are, as passwords may be made of them.
func Source() rand.Source { return source{} }

type source struct{}

func (source) Uint64() uint64 {
	var word [8]byte
	generator.Fill(word[:])
	return binary.NativeEndian.Uint64(word[:])
}
