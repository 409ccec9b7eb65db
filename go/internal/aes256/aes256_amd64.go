//go:build linux && amd64 && !purego

// The engines on x86-64, and the functions that differ on other CPUs.

package aes256

import (
	"github.com/squall-rng/squall/go/internal/cpuid"
	"golang.org/x/sys/cpu"
)

// The longest requests, in bytes, for which wider registers are no faster than those of AES-NI.
const (
	narrowUpTo256 = BlockSize     // measured on an EPYC 7003
	narrowUpTo512 = 2 * BlockSize // measured on an EPYC 9004
)

var hasRandom = cpu.X86.HasRDRAND

// detect finds what the assembly of each engine uses.
func detect() []Engine {
	x86 := &cpu.X86
	if !x86.HasAES || !x86.HasSSSE3 || !x86.HasSSE41 {
		return nil
	}
	engines := []Engine{AESNI}
	if cpuid.HasVAES() {
		engines = append(engines, VAES256)
	}
	if x86.HasAVX2 && x86.HasAVX512F && x86.HasAVX512BW && x86.HasAVX512VAES {
		engines = append(engines, VAES512)
	}
	return engines
}

// fill fills dst, which is not empty, with keystream.
func (e Engine) fill(keys *[KeysSize]byte, counter *[BlockSize]byte, dst []byte) {
	switch {
	case e == VAES512 && len(dst) > narrowUpTo512:
		keystreamVAES512(keys, counter, dst)
	case e == VAES256 && len(dst) > narrowUpTo256:
		keystreamVAES256(keys, counter, dst)
	case e == AESNI || e == VAES256 || e == VAES512:
		keystreamAESNI(keys, counter, dst)
	default:
		panic("aes256: no engine")
	}
}

// keystreamAESNI fills dst, which is not empty, with keystream from block counter+1 on, and counts.
//
//go:noescape
func keystreamAESNI(keys *[KeysSize]byte, counter *[BlockSize]byte, dst []byte)

// keystreamVAES256 is keystreamAESNI by VAES on 256-bit registers.
//
//go:noescape
func keystreamVAES256(keys *[KeysSize]byte, counter *[BlockSize]byte, dst []byte)

// keystreamVAES512 is keystreamAESNI by VAES on 512-bit registers.
//
//go:noescape
func keystreamVAES512(keys *[KeysSize]byte, counter *[BlockSize]byte, dst []byte)
