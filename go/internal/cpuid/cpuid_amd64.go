//go:build linux && amd64 && !purego

// Package cpuid asks the CPU what golang.org/x/sys/cpu does not tell. In a virtual machine each CPUID is a trap of
// some microseconds.
package cpuid

import (
	"sync/atomic"

	"golang.org/x/sys/cpu"
)

// HasVAES reports whether the CPU has VAES on 256-bit registers, and the system saves these. x/sys/cpu knows VAES only
// together with AVX-512.
func HasVAES() bool {
	return cpu.X86.HasAVX2 && (cpu.X86.HasAVX512VAES || leaf7()>>9&1 != 0)
}

// HasRDPID reports whether the CPU has RDPID.
func HasRDPID() bool { return leaf7()>>22&1 != 0 }

// kept is isKept with what leaf7 returned; 0 before.
var kept atomic.Uint64

const isKept = 1 << 32

// leaf7 returns register ECX of leaf 7, and executes CPUID only once. A CPU without this leaf may answer with another
// one, so it must have BMI1, which the leaf has too.
func leaf7() uint32 {
	if known := kept.Load(); known != 0 {
		return uint32(known)
	}
	var ecx uint32
	if cpu.X86.HasBMI1 {
		_, _, ecx, _ = Ask(7, 0)
	}
	kept.Store(isKept | uint64(ecx))
	return ecx
}

// Ask executes CPUID.
func Ask(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)
