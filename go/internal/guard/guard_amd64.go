//go:build linux && amd64 && !purego

package guard

import (
	"sync/atomic"
	"unsafe"

	"github.com/squall-rng/squall/go/internal/aes256"
	"github.com/squall-rng/squall/go/internal/failpoint"
	"golang.org/x/sys/cpu"
)

// What AMD64 has of its own: the CPU's identification, its order of loads and stores, and how its vDSO is called.

// stopCounter is unasked, asked, or known plus the [aes256.CounterMethod].
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
func StopCounter() aes256.CounterMethod {
	switch state := stopCounter.Load(); state {
	case unasked:
		stopCounter.CompareAndSwap(unasked, asked)
		return aes256.NoCounter
	case asked:
		counter := aes256.NoCounter
		if !failpoint.HideKVM.IsActive() && (failpoint.PretendKVM.IsActive() || isKVM(cpuid)) {
			counter = BestCounter()
		}
		stopCounter.Store(known + uint32(counter))
		return counter
	default:
		return aes256.CounterMethod(state - known)
	}
}

// BestCounter returns the fastest way of this CPU, whatever the hypervisor.
func BestCounter() aes256.CounterMethod {
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

// bestCounterOf returns the fastest [aes256.CounterMethod] of a CPU.
func bestCounterOf(cpuid cpuidFunc, hasFeatures bool) aes256.CounterMethod {
	const features, hasRDPID = 7, 1 << 22                    // its ECX
	const extendedFeatures, hasRDTSCP = 0x8000_0001, 1 << 27 // its EDX; every CPU of 64 bits has this leaf
	if hasFeatures {
		if _, _, c, _ := cpuid(features, 0); c&hasRDPID != 0 {
			return aes256.RDPID
		}
	}
	if _, _, _, d := cpuid(extendedFeatures, 0); d&hasRDTSCP != 0 {
		return aes256.RDTSCP
	}
	return aes256.NoCounter
}

// cpuid executes CPUID.
func cpuid(leaf, subleaf uint32) (eax, ebx, ecx, edx uint32)

// hasHypervisor reports whether a hypervisor announces itself (CPUID.1:ECX[31]).
func hasHypervisor() bool {
	_, _, c, _ := cpuid(1, 0)
	return c>>31 != 0
}

// readBeforeChecking does nothing: x86-64 performs loads in program order (Intel SDM volume 3A, section 9.2.2).
func readBeforeChecking() {}

// markBeforeGoingOn does nothing: x86-64 performs stores in program order, and Go's atomic stores are full
// barriers there.
func markBeforeGoingOn() {}

// candidateAddresses are the places of the generation in the kernels that have it.
var candidateAddresses = [...]candidateAddress{
	{0x4000, 0},   // 6.15 on: a page of its own
	{0x4000, 640}, // 6.11 to 6.14
	{0x1000, 640}, // 6.11 and 6.12 in a time namespace
	{0x3000, 640}, // 6.13 and 6.14 in a time namespace
}

// getrandomName is the function's name in the vDSO.
const getrandomName = "__vdso_getrandom"

// callGetrandom calls the vDSO's getrandom with flags of 0. A negative result is an errno.
//
//go:noescape
func callGetrandom(function uintptr, out unsafe.Pointer, length uintptr, state unsafe.Pointer, stateLength uintptr) int64
