// Package squall generates cryptographic random bytes at the speed of the CPU's AES units, without a
// system call or a lock. The bytes are never older than the kernel's own state, and forks and VM clones
// do not repeat them.
//
//	squall.Read(key[:])                  // like crypto/rand.Read: never fails, always fills
//	n := squall.Uint64()
//	token := squall.Text()
//	dice := rand.New(squall.Source())    // math/rand/v2: IntN, Shuffle, Perm, secure
//	cryptorand.Reader = squall.Reader    // crypto/rand
//
// # Which should I use
//
//   - Keys, nonces, tokens, salts: [Read], [Bytes], [Text]. They are as strong as crypto/rand, and
//     faster if you draw many.
//   - Numbers in a range, shuffles, floats: rand.New(squall.[Source]()) of math/rand/v2.
//   - Long-lived keys, once in a while: [Fresh], or crypto/rand itself, which squall cannot improve there.
//   - Words: [Uint64], [Uint32]. They have the same guarantees as [Read].
//   - Numbers for simulations, sampling, jitter, by the million: rand.New([SimulationSource]{}). It is the
//     fastest source, but a VM clone may repeat its numbers: do not use it for keys, tokens, nonces or passwords.
//   - Repeatable simulations: math/rand/v2 with a seed of your own; squall cannot be seeded.
//   - Noticing that the virtual machine was cloned: [CloneGeneration] to compare on each request, [NotifyClones] to wait.
//   - On systems other than Linux on AMD64 and arm64, on CPUs without AES instructions, without memory that a
//     fork empties, and with the build tag purego, all functions use crypto/rand, at its speed.
//
// # Guarantees
//
// Every request is served by CTR_DRBG with AES-256 (NIST SP 800-90A Rev. 1, section 10.2.1), seeded by the
// kernel's RNG, with a security strength of 256 bits. The state is never older than the kernel's own: each
// request checks the generation that the kernel's RNG is in, after it has read its bytes and before it
// gives them out; kernels before Linux 6.11 show no generation, so a seed lasts 60 seconds there ([State].ReseedGuard). The
// state is in memory outside of Go's heap that a fork empties, that is not dumped, nor swapped where it
// can be locked, and in which what was given out is erased (backtracking resistance).
//
// Neither a forked child nor a restored snapshot of a VM or of a process repeats any bytes, except words of
// [SimulationSource]. A request compares the signal of clones and the kernel's tick after its bytes, too. Where there is
// no signal in time ([State].CloneGuard "vmgenid" and "no-signal"), or no tick ([State].FollowsTick), all requests of
// up to 256 bytes get a request pad: they return CTR_DRBG's output
// XORed with another keystream, of AES-256 in counter mode, under a key that CTR_DRBG gave, starting
// at a block whose number comes from the cycle counter and the random instruction. In longer requests these two are
// additional input to the generator, for each 64 KiB. One limit remains (SECURITY.md): if the machine or the process is
// stopped in the middle of a request, all copies have the bytes that the request has drawn already.
//
// All functions may be called by any number of goroutines at once. None waits for another.
//
// # crypto/rand.Reader
//
// After crypto/rand.Reader = squall.Reader the following draw from squall in Go 1.26, which a test
// checks: crypto/rand.Read, Text and Int; the hellos, session identifiers and tickets of crypto/tls;
// ed25519.GenerateKey, rsa.SignPSS and rsa.EncryptOAEP when they are given the reader; and all
// other code that reads from it. The following ignore the reader, and ask the kernel:
// crypto/rand.Prime, keys and signatures of crypto/ecdsa, keys of crypto/ecdh and crypto/rsa, and so
// the key exchange of crypto/tls; unless GODEBUG=cryptocustomrand=1 is set.
// math/rand and math/rand/v2 have generators of their own.
package squall

import (
	"io"
	"math/rand/v2"

	"github.com/squall-rng/squall/go/internal/generator"
)

// Reader is an io.Reader of random bytes that never fails and always fills the whole buffer.
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
// that leaks, before or after, reveals what Fresh returned.
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
func Uint32() uint32 { return uint32(generator.Word()) }

// Uint64 returns a random number of 64 bits.
func Uint64() uint64 { return generator.Word() }

// textLen is the number of characters of 5 bits that give at least 128 bits.
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
// the rest, from bytes that nobody can predict, and that no fork or VM clone repeats: they are good enough for
// passwords. It has no state and may be shared, as may such a rand.Rand.
func Source() rand.Source { return source{} }

type source struct{}

func (source) Uint64() uint64 { return generator.Word() }

// SimulationSource is a source for math/rand/v2, like [Source], for numbers that the clone of a VM may
// repeat without harm: rand.New(squall.SimulationSource{}). They are faster than those of [Source] if the
// signal of a clone comes late or never ([State].CloneGuard "vmgenid" and "no-signal"). There a clone
// repeats the words that were in the buffer when the machine was stopped: up to 392 words for each P, until
// the kernel reseeds.
//
// In all else the words are like those of [Uint64]: nobody can predict them, no fork repeats them, and they
// are never older than the kernel's own state. Do not use them for keys, tokens, nonces or passwords.
//
// It has no state and may be shared.
type SimulationSource struct{}

// Uint64 returns a random number of 64 bits.
func (SimulationSource) Uint64() uint64 { return generator.SimulationWord() }
