//go:build linux && amd64 && !purego

package guard

import (
	"sync/atomic"

	"github.com/squall-rng/squall/go/internal/failpoint"
	"golang.org/x/sys/cpu"
)

// Detects whether the machine may have been stopped between two readings of the cycle counter.
//
// To be cloned, a virtual CPU must leave the guest, be saved, be restored and enter the guest again; and
// the guest's counter continues from the value that was saved after the exit. So a stop cannot hide
// between two readings on one CPU that are less than a gap apart.
//
// That is a property of the hypervisor's code, so squall relies on it only where the code is known: on KVM.
// Others might hide from the guest how long it was stopped.

// usualGap is shorter than any stop, in cycles: KVM takes longer to leave the guest, to return to the
// monitor and to enter again, with a counter of 1 GHz or more.
const usualGap = 1000

// gap returns usualGap, unless a test has set another gap.
func gap() uint64 {
	const endless = 1<<64 - 1
	if failpoint.StopDetection.Off() {
		return endless
	}
	return failpoint.Gap(usualGap)
}

// Reading is a reading of the cycle counter. CPU identifies the CPU: it differs between CPUs, is that of no
// CPU if the thread moved during the reading, and is never 0.
type Reading struct{ Count, CPU uint64 }

// isWithinGap reports whether the reading came less than a gap after the counter was at count. It did not if
// the counter is lower now, nor if it is the same, because a counter that stands still proves nothing.
func (r Reading) isWithinGap(count uint64) bool { return r.Count-count-1 < gap()-1 }

// provesNoStopSince reports whether the two readings prove that the machine was not stopped in between.
func (r Reading) provesNoStopSince(earlier Reading) bool {
	return r.isWithinGap(earlier.Count) && r.CPU == earlier.CPU
}

// CounterMethod is the way to read the cycle counter and the number of its CPU.
type CounterMethod uint32

const (
	// NoCounter means that the counter cannot be used: it may hide stops, or its CPU is unknown.
	NoCounter CounterMethod = iota
	// RDTSCP uses the instruction of that name.
	RDTSCP
	// RDPID uses RDTSC between two RDPID.
	RDPID
)

// stopCounter is unasked, asked, or known plus the [CounterMethod].
var stopCounter atomic.Uint32

const (
	unasked = iota
	asked
	// known is added to the CounterMethod.
	known
)

// StopCounter returns the way to read a counter that shows stops of this machine. The detection runs once
// in a process, at the second call: each CPUID is a trap in a VM and may take 10 µs, and many processes
// draw only once.
func StopCounter() CounterMethod {
	switch state := stopCounter.Load(); state {
	case unasked:
		stopCounter.CompareAndSwap(unasked, asked)
		return NoCounter
	case asked:
		counter := NoCounter
		if !failpoint.KVM.Off() && (failpoint.OtherHypervisors.Off() || isKVM(cpuid)) {
			counter = BestCounter()
		}
		stopCounter.Store(known + uint32(counter))
		return counter
	default:
		return CounterMethod(state - known)
	}
}

// BestCounter returns the fastest way of this CPU, whatever the hypervisor.
func BestCounter() CounterMethod {
	// The leaf with RDPID also has BMI1; a CPU without this leaf may answer with another one.
	return bestCounterOf(cpuid, cpu.X86.HasBMI1)
}

// cpuidFunc returns CPUID's answer for a leaf and a subleaf.
type cpuidFunc func(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)

// isKVM reports whether the hypervisor is KVM (Documentation/virt/kvm/x86/cpuid.rst). KVM may show
// another hypervisor's leaves before its own, at a distance of 0x100, and the kernel's hypervisor_cpuid_base
// searches in the same way. If the first leaf of a group does not give a valid last leaf, there is no
// hypervisor there, and the search ends.
//
// VirtualBox can show KVM's name, but none of the features that this function checks.
func isKVM(cpuid cpuidFunc) bool {
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

// bestCounterOf returns the fastest [CounterMethod] of a CPU.
func bestCounterOf(cpuid cpuidFunc, hasFeatures bool) CounterMethod {
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

// cpuid executes CPUID.
func cpuid(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)

// hypervisorAnnounced is [hasHypervisor], unless a test replaces it.
var hypervisorAnnounced = hasHypervisor

// hasHypervisor reports whether a hypervisor announces itself (CPUID.1:ECX[31]).
func hasHypervisor() bool {
	_, _, c, _ := cpuid(1, 0)
	return c>>31 != 0
}
