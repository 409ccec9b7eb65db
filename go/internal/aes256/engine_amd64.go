//go:build amd64 && !purego

// The engines on x86-64, and the checks before the assembly.

package aes256

import "golang.org/x/sys/cpu"

// Sources of the number of Pad's first block, as the assembly numbers them.
const (
	sourceCaller = iota
	sourceCycles
	sourceCyclesAndRandom
)

// narrowUpTo is the longest request, in bytes, for which 512-bit registers are no faster than those of
// AES-NI. Measured on an EPYC 9004.
const narrowUpTo = 2 * BlockSize

var numberSource = detectSource()

// detect finds what the assembly of each engine uses.
func detect() []Engine {
	x86 := &cpu.X86
	if !x86.HasAES || !x86.HasSSSE3 || !x86.HasSSE41 {
		return nil
	}
	engines := []Engine{AESNI}
	if x86.HasAVX2 && x86.HasAVX512F && x86.HasAVX512BW && x86.HasAVX512VAES {
		engines = append(engines, VAES512)
	}
	return engines
}

func detectSource() int {
	if cpu.X86.HasRDRAND {
		return sourceCyclesAndRandom
	}
	return sourceCycles
}

// Expand writes the 15 round keys of key (FIPS 197 section 5.2).
func Expand(key *[KeySize]byte, keys *[KeysSize]byte) {
	expand(key, keys)
}

// Keystream fills dst with the blocks E(counter+1), E(counter+2) and so on, the last one cut off, and
// sets counter to the last number used. counter is a 128-bit big-endian number that wraps around, as
// in CTR_DRBG (SP 800-90A section 10.2.1.2). The engine must be one of [Available].
func (e Engine) Keystream(keys *[KeysSize]byte, counter *[BlockSize]byte, dst []byte) {
	if len(dst) == 0 {
		return
	}
	switch {
	case e == VAES512 && len(dst) > narrowUpTo:
		keystreamVAES512(keys, counter, dst)
	case e == AESNI || e == VAES512:
		keystreamAESNI(keys, counter, dst)
	default:
		panic("aes256: no engine")
	}
}

// Pad XORs keystream into dst, which has at most [MaxShort] bytes. The number of its first block
// is word<<64 | cycles<<4, with cycles the CPU's cycle counter and word one of its random
// instruction, or zero if there is none or it fails 10 times. Two calls use different numbers as
// long as the cycle counter does not go back.
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

// TakeAndReadCounter moves len(dst) bytes from src to dst, leaves zeros in src, and then does what [ReadCounter] does.
// The two must not overlap.
func TakeAndReadCounter(dst []byte, src *byte, counter CounterMethod) (count, cpu uint64) {
	return takeAndReadCounter(dst, src, uint64(counter))
}

// ReadCounter reads the CPU's cycle counter and identifies the CPU: cpu is the same for each reading on one
// CPU and differs between CPUs. If the thread moved during the reading, cpu is that of no CPU. It is never 0.
func ReadCounter(counter CounterMethod) (count, cpu uint64) {
	return readCounter(uint64(counter))
}

func checkShort(length int) {
	if length > MaxShort {
		panic("aes256: more than 256 bytes")
	}
}
