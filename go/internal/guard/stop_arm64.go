//go:build linux && arm64 && !purego

package guard

// CounterOfStops is no counter: programs cannot tell there whether the hypervisor is KVM, and on many machines
// the counter moves every dozens of nanoseconds only.
func CounterOfStops() Counter { return NoCounter }

// CounterOfCPU is no counter either.
func CounterOfCPU() Counter { return NoCounter }

// hasHypervisor takes every machine for a VM: programs cannot ask the CPU.
func hasHypervisor() bool { return true }
