//go:build (amd64 || (linux && arm64)) && !purego

// The checks in front of the assembly that x86-64 and arm64 both have.

package aes256

// Where the number of Pad's first block comes from, as the assembly takes it.
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
// instruction, or zero where there is none or it fails 10 times. Without a word, two calls use different
// numbers if the counter moved forward in between. On arm64 it is the machine's, of 1 GHz or of some dozens
// of MHz, so that it may not have.
func Pad(keys *[KeysSize]byte, dst []byte) {
	checkShort(len(dst))
	if len(dst) > 0 {
		pad(keys, dst, numberSource, 0, 0)
	}
}

// HasRandom tells whether this CPU has a random instruction.
func HasRandom() bool { return numberSource == sourceCyclesAndRandom }

// Stir XORs into out the CPU's cycle counter and so many words of its random instruction, two at most;
// zeros where there is none or it fails 10 times.
func Stir(out *[3]uint64, words uint64) {
	if !HasRandom() {
		words = 0
	}
	stir(out, words)
}

// XOR writes the XOR of first and second, or first where second is nil.
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
