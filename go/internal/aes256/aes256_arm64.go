//go:build linux && arm64 && !purego

// The engine on arm64, and the functions that differ on other CPUs.

package aes256

import (
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

// fill fills dst, which is not empty, with keystream.
func (e Engine) fill(keys *[KeysSize]byte, counter *[BlockSize]byte, dst []byte) {
	if e != ARMAES {
		panic("aes256: no engine")
	}
	keystream(keys, counter, dst)
}

// keystream fills dst, which is not empty, with keystream from block counter+1 on, and counts.
//
//go:noescape
func keystream(keys *[KeysSize]byte, counter *[BlockSize]byte, dst []byte)
