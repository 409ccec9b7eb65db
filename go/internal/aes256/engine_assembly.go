//go:build (amd64 || (linux && arm64)) && !purego

// The checks before the assembly that x86-64 and arm64 have in common.

package aes256

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
// is word<<64 | cycles<<4, with cycles the CPU's cycle counter and word one of its random
// instruction, or zero if there is none or it fails 10 times. Without a word, two calls use different
// numbers only if the counter advanced in between. The counter of arm64 is the machine's, with 1 GHz or some
// dozens of MHz, so it may not have advanced.
func Pad(keys *[KeysSize]byte, dst []byte) {
	checkShort(len(dst))
	if len(dst) > 0 {
		pad(keys, dst, numberSource, 0, 0)
	}
}

// HasRandom reports whether this CPU has a random instruction.
func HasRandom() bool { return numberSource == sourceCyclesAndRandom }

// XORNoise XORs into out the CPU's cycle counter and the given number of words of its random
// instruction, at most two; zeros if there is none or it fails 10 times.
func XORNoise(out *[3]uint64, words uint64) {
	if !HasRandom() {
		words = 0
	}
	xorNoise(out, words)
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
