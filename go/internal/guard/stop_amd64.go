//go:build linux && amd64 && !purego

package guard

import (
	"sync/atomic"

	"github.com/squall-rng/squall/go/internal/failpoint"
	"golang.org/x/sys/cpu"
)

// counterOfStops is what is known of the [Counter]: nothing, that somebody asked for it, or which it is.
var counterOfStops atomic.Uint32

const (
	unasked = iota
	asked
	// known is added to the Counter.
	known
)

// CounterOfStops is how the counter is read in which stops of this machine show. It is looked for once
// in a process, when it is asked for a second time: each CPUID is a trap in a VM and may take 10 µs, and
// many processes draw once.
func CounterOfStops() Counter {
	switch state := counterOfStops.Load(); state {
	case unasked:
		counterOfStops.CompareAndSwap(unasked, asked)
		return NoCounter
	case asked:
		counter := NoCounter
		if !failpoint.KVM.Off() && (failpoint.NoKVM.Off() || isKVM(cpuid)) {
			counter = CounterOfCPU()
		}
		counterOfStops.Store(known + uint32(counter))
		return counter
	default:
		return Counter(state - known)
	}
}

// CounterOfCPU is the fastest that the CPU has, whatever the hypervisor.
func CounterOfCPU() Counter {
	// BMI1 is told by the leaf that tells of RDPID; a CPU that has no such leaf may answer with another one.
	return counterOf(cpuid, cpu.X86.HasBMI1)
}

// answer is what CPUID gives for a leaf and a subleaf.
type answer func(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)

// isKVM tells whether the hypervisor is KVM (Documentation/virt/kvm/x86/cpuid.rst). KVM may have leaves
// of another one in front of its own, at a distance of 0x100, and the kernel's hypervisor_cpuid_base
// searches for them likewise. Where a hypervisor's first leaf does not tell how many it has, there is none,
// and no other is behind it.
//
// VirtualBox can show KVM's name, but none of the features that are asked for here.
func isKVM(cpuid answer) bool {
	const first, end, step = 0x4000_0000, 0x4001_0000, 0x100
	const features = 1<<4 | 1<<5 | 1<<6 // asynchronous page faults, steal time, PV end of interrupt
	for base := uint32(first); base < end; base += step {
		last, b, c, d := cpuid(base, 0)
		if b == 0x4b4d_564b && c == 0x564b_4d56 && d == 0x4d { // KVMKVMKVM and three zeros
			offered, _, _, _ := cpuid(base+1, 0)
			return offered&features != 0
		}
		if last < base || last >= base+step {
			return false
		}
	}
	return false
}

// counterOf is the fastest [Counter] of a CPU.
func counterOf(cpuid answer, hasFeatures bool) Counter {
	const features, hasRDPID = 7, 1 << 22                    // its ECX
	const extendedFeatures, hasRDTSCP = 0x8000_0001, 1 << 27 // its EDX; every CPU of 64 bits has this leaf
	if hasFeatures {
		if _, _, c, _ := cpuid(features, 0); c&hasRDPID != 0 {
			return RDPID
		}
	}
	if _, _, _, d := cpuid(extendedFeatures, 0); d&hasRDTSCP != 0 {
		return RDTSCP
	}
	return NoCounter
}

// cpuid asks the CPU.
func cpuid(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)

// hasHypervisor tells whether a hypervisor announces itself (CPUID.1:ECX[31]).
func hasHypervisor() bool {
	_, _, c, _ := cpuid(1, 0)
	return c>>31 != 0
}
