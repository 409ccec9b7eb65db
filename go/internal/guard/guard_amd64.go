//go:build linux && amd64 && !purego

package guard

import (
	"unsafe"

	"github.com/squall-rng/squall/go/internal/cpuid"
	"github.com/squall-rng/squall/go/internal/failpoint"
)

// What AMD64 has of its own: the CPU's identification, its order of loads and stores, and how its vDSO is called.

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

// isGuestOfKVM reports whether this machine is a guest of KVM.
func isGuestOfKVM() bool { return isKVM(cpuid.Ask) }

// hasRDPID reports whether the CPU has RDPID.
func hasRDPID() bool { return cpuid.HasRDPID() }

// mayHaveKVMClock tells whether to look for kvm-clock's records.
const mayHaveKVMClock = true

// ownRecord returns wordOf for the record of the CPU on which the thread runs, with the CPU's number XORed into the
// highest bits. The CPU must have RDPID.
//
//go:noescape
func ownRecord(records *records) uint64

// currentTag is [tagAt], in assembly unless a test has turned off a part of it.
func currentTag(generation *uint64) Tag {
	if failpoint.IsEnabled && isPartOfTagFrozen() {
		return tagAt(generation)
	}
	return tagOfOwnRecord(generation)
}

// tagOfOwnRecord is [tagAt] with the record of the CPU on which the thread runs, and calls that where requests do not
// compare it. One call in place of two takes 1.5 ns off each request.
//
//go:noescape
func tagOfOwnRecord(generation *uint64) Tag

// sumRecords returns the sums of the versions and of the times of all records.
//
//go:noescape
func sumRecords(records *records) (versions, times uint64)

// clockPagesBelow are the distances from the vDSO, in pages, at which the clocks may be.
var clockPagesBelow = [...]uintptr{4, 3, 1, 6, 5}

// hasHypervisor reports whether a hypervisor announces itself (CPUID.1:ECX[31]).
func hasHypervisor() bool {
	_, _, c, _ := cpuid.Ask(1, 0)
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
