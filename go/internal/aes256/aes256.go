//go:build linux && (amd64 || arm64) && !purego

// Package aes256 computes AES with a 256-bit key (FIPS 197) in counter mode, with the CPU's AES
// instructions, for callers whose keys must never be in Go's memory.
//
// Keys, counters and output are read and written where the caller keeps them. No function copies them to the stack
// or the heap. All functions leave zeros in every vector register, and no secrets in the other registers. There is
// no code for CPUs without the instructions: callers check that [Best] is not [None] before they use anything else.
package aes256

import (
	"sync/atomic"

	"github.com/squall-rng/squall/go/internal/failpoint"
)

const (
	// BlockSize is the length of an AES block, in bytes (FIPS 197 table 3).
	BlockSize = 16
	// KeySize is the length of a key, in bytes.
	KeySize = 32
	// KeysSize is the length of the 15 round keys of a key, in bytes.
	KeysSize = 15 * BlockSize
)

// XORLen is the length of [XOR]'s operands, in bytes: a key and a counter.
const XORLen = KeySize + BlockSize

// MaxShort is the maximal length that [Pad] and [Take] accept, in bytes.
const MaxShort = 256

// Engine is an implementation of AES on this CPU. All engines write the same bytes.
type Engine uint8

const (
	// None stands for a CPU or a build without an engine.
	None Engine = iota
	// AESNI is AES by AES-NI on 128-bit registers: 8 blocks in flight.
	AESNI
	// VAES256 is AES by VAES on 256-bit registers: 16 blocks in flight.
	VAES256
	// VAES512 is AES by VAES on 512-bit registers: 32 blocks in flight.
	VAES512
	// ARMAES is AES by ARMv8's instructions: 12 blocks in flight.
	ARMAES
)

// String returns the engine's name.
func (e Engine) String() string {
	switch e {
	case AESNI:
		return "aesni"
	case VAES256:
		return "vaes256"
	case VAES512:
		return "vaes512"
	case ARMAES:
		return "arm-aes"
	default:
		return "none"
	}
}

// available lists the engines that this CPU and build can run, the slowest first.
var available = detect()

// Available returns the engines that this CPU and build can run, the slowest first.
func Available() []Engine {
	return append([]Engine(nil), available...)
}

// Best returns the fastest engine that this CPU and build can run, or None.
func Best() Engine {
	if len(available) == 0 {
		return None
	}
	return available[len(available)-1]
}

// Sources of the number of Pad's first block, as the assembly numbers them.
const (
	sourceCaller = iota
	sourceCycles
	sourceCyclesAndRandom
)

// Keystream fills dst with the blocks E(counter+1), E(counter+2) and so on, the last one cut off, and
// sets counter to the last number used. counter is a 128-bit big-endian number that wraps around, as
// in CTR_DRBG (SP 800-90A section 10.2.1.2). The engine must be one of [Available].
func (e Engine) Keystream(keys *[KeysSize]byte, counter *[BlockSize]byte, dst []byte) {
	if len(dst) > 0 {
		e.fill(keys, counter, dst)
	}
}

// Expand writes the 15 round keys of key (FIPS 197 section 5.2).
//
//go:noescape
func Expand(key *[KeySize]byte, keys *[KeysSize]byte)

// Pad XORs keystream into dst, which has at most [MaxShort] bytes. The number of its first block
// is word<<64 | cycles<<4, with cycles the CPU's cycle counter. The word is number XORed with one of the CPU's
// random instruction, or number alone if there is no such instruction or it fails 10 times.
//
// The caller must give each pad of a key another number: the counter may not have advanced since the last one.
// That of arm64 is the machine's, with 1 GHz or some dozens of MHz.
//
//go:nosplit
func Pad(keys *[KeysSize]byte, dst []byte, number uint64) {
	checkShort(len(dst))
	if len(dst) == 0 {
		return
	}
	source := sourceCycles
	switch {
	case failpoint.SkipPadNoise.IsActive():
		source = sourceCaller
	case mayAsk(1):
		source = sourceCyclesAndRandom
	}
	if pad(keys, dst, source, number, 0) > 0 {
		randomPause.begin()
	}
}

// XORNoise XORs into out the CPU's cycle counter and the given number of words of its random
// instruction, at most two; zeros if there is none or it fails 10 times. After a failure, the instruction is not
// asked for the next 1024 words, by this function or [Pad].
func XORNoise(out *[3]uint64, words uint64) {
	if words > 0 && !mayAsk(words) {
		words = 0
	}
	if xorNoise(out, words) > 0 {
		randomPause.begin()
	}
}

// XOR writes the XOR of first and second, or first if second is nil.
//
//go:noescape
func XOR(out, first, second *[XORLen]byte)

// Take moves len(dst) bytes, from [BlockSize] to [MaxShort], from src to dst and leaves zeros in src. The
// two must not overlap.
func Take(dst []byte, src *byte) {
	checkShort(len(dst))
	if len(dst) < BlockSize {
		panic("aes256: less than 16 bytes")
	}
	take(dst, src)
}

func checkShort(length int) {
	if length > MaxShort {
		panic("aes256: more than 256 bytes")
	}
}

// pad XORs keystream from block number word<<64 | cycles<<4 on into dst, which is at most 256 bytes and not
// empty. source says where the numbers come from: 0, the caller; 1, the cycle counter replaces cycles; 2, and a
// word of the random instruction is XORed into word. missing is 1 if the instruction gave no word.
//
//go:noescape
func pad(keys *[KeysSize]byte, dst []byte, source int, word uint64, cycles uint64) (missing uint64)

// xorNoise XORs into out the cycle counter and up to two words of the random instruction. missing is the
// number of words that the instruction did not give.
//
//go:noescape
func xorNoise(out *[3]uint64, words uint64) (missing uint64)

// take moves len(dst) bytes from src to dst, at least 16, and leaves zeros in src.
//
//go:noescape
func take(dst []byte, src *byte)

// HasRandom reports whether this CPU has a random instruction.
func HasRandom() bool { return hasRandom }

// randomPause is the pause of this process's CPU's random instruction.
var randomPause pause

// mayAsk reports whether the random instruction may be asked for words. If not, it counts them as not asked
// for.
//
//go:nosplit
func mayAsk(words uint64) bool { return hasRandom && !randomPause.skips(uint32(words)) }

// pauseLen is the length of a pause, in words. On some cloud machines RNDR gave no word for hours (aws-lc issue
// 3453), and each request would wait for ten attempts.
const pauseLen = 1024

// pause holds the number of words for which an instruction is not asked, because it gave none. The zero value is
// no pause.
type pause struct{ left atomic.Uint32 }

// begin begins a pause.
//
//go:nosplit
func (p *pause) begin() { p.left.Store(pauseLen) }

// skips reports whether there is a pause, and takes words off it. If two goroutines do so at once, the pause may
// become longer.
//
//go:nosplit
func (p *pause) skips(words uint32) bool {
	left := p.left.Load()
	if left == 0 {
		return false
	}
	p.left.Store(left - min(left, words))
	return true
}
