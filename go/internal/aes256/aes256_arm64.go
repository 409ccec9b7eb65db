//go:build linux && arm64 && !purego

// The engine on arm64, and the functions that differ on other CPUs.

package aes256

import (
	"math"
	"unsafe"

	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"
)

var (
	hasRandom = detectRandom()
	// hasDIT tells the assembly whether the CPU has PSTATE.DIT.
	hasDIT = cpu.ARM64.HasDIT
)

// detect finds what the assembly uses.
func detect() []Engine {
	if !cpu.ARM64.HasAES {
		return nil
	}
	return []Engine{ARMAES}
}

// detectRandom asks the kernel whether the CPU has RNDR (Documentation/arch/arm64/elf_hwcaps.rst).
func detectRandom() bool {
	const hwcap2, hasRNG = 26, 1 << 16 // AT_HWCAP2, HWCAP2_RNG
	vector, err := unix.Auxv()
	if err != nil {
		return false
	}
	for _, entry := range vector {
		if entry[0] == hwcap2 && entry[1]&hasRNG != 0 {
			return true
		}
	}
	return false
}

// Keystream fills dst with the blocks E(counter+1), E(counter+2) and so on, the last one cut off, and
// sets counter to the last number used. counter is a 128-bit big-endian number that wraps around, as
// in CTR_DRBG (SP 800-90A section 10.2.1.2). The engine must be one of [Available].
func (e Engine) Keystream(keys *[KeysSize]byte, counter *[BlockSize]byte, dst []byte) {
	if len(dst) == 0 {
		return
	}
	if e != ARMAES {
		panic("aes256: no engine")
	}
	keystream(keys, counter, dst)
}

// ReadCounter reads the machine's counter, which all CPUs share. So cpu is always the same, and not 0.
func ReadCounter(CounterMethod) (count, cpu uint64) {
	return readCounter(), math.MaxUint32
}

// TakeAndReadCounter moves len(dst) bytes from src to dst, leaves zeros in src, and then does what [ReadCounter] does.
// The two must not overlap.
//
//go:nosplit
func TakeAndReadCounter(dst []byte, src *byte, _ CounterMethod) (count, cpu uint64) {
	if len(dst) >= BlockSize {
		take(dst, src)
		return readCounter(), math.MaxUint32
	}
	for i := range dst {
		// SAFETY: src has as many bytes as dst.
		from := (*byte)(unsafe.Add(unsafe.Pointer(src), i))
		dst[i], *from = *from, 0
	}
	return readCounter(), math.MaxUint32
}

// keystream fills dst, which is not empty, with keystream from block counter+1 on, and counts.
//
//go:noescape
func keystream(keys *[KeysSize]byte, counter *[BlockSize]byte, dst []byte)

// readCounter reads the counter after all earlier instructions.
//
//go:noescape
func readCounter() uint64
