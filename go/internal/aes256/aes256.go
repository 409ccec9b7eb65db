// Package aes256 computes AES with a 256-bit key (FIPS 197) in counter mode, with the CPU's AES
// instructions, for callers whose keys must never be in Go's memory.
//
// Keys, counters and output are read and written where the caller keeps them. No function copies
// them to the stack or the heap. All functions leave zeros in every vector register, and no
// secrets in the other registers. There is no code for CPUs without the instructions: callers check that [Best] is not [None]
// before they use anything else.
package aes256

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

// CounterMethod is how [ReadCounter] and [TakeAndReadCounter] read the cycle counter. The caller must have checked
// that the CPU has the instruction.
type CounterMethod uint64

const (
	// RDTSCP gives the count and the CPU's number.
	RDTSCP CounterMethod = 1
	// RDPID gives the CPU's number before and after RDTSC gives the count, in half the time of RDTSCP.
	RDPID CounterMethod = 2
)

// Engine is an implementation of AES on this CPU. All engines write the same bytes.
type Engine uint8

const (
	// None stands for a CPU or a build without an engine.
	None Engine = iota
	// AESNI is AES by AES-NI on 128-bit registers: 8 blocks in flight.
	AESNI
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

var best = fastest(available)

// Available returns the engines that this CPU and build can run, the slowest first.
func Available() []Engine {
	return append([]Engine(nil), available...)
}

// Best returns the fastest engine that this CPU and build can run, or None.
func Best() Engine {
	return best
}

func fastest(engines []Engine) Engine {
	if len(engines) == 0 {
		return None
	}
	return engines[len(engines)-1]
}
