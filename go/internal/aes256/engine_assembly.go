//go:build (amd64 || (linux && arm64)) && !purego

// The checks before the assembly that x86-64 and arm64 have in common.

package aes256

import "github.com/squall-rng/squall/go/internal/failpoint"

// Sources of the number of Pad's first block, as the assembly numbers them.
const (
	sourceCaller = iota
	sourceCycles
	sourceCyclesAndRandom
)

// Expand writes the 15 round keys of key (FIPS 197 section 5.2).
func Expand(key *[KeySize]byte, keys *[KeysSize]byte) {
	expand(key, keys)
}

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
func XOR(out, first, second *[XORLen]byte) {
	xor(out, first, second)
}

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
