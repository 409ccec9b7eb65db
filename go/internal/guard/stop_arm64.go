//go:build linux && arm64 && !purego

package guard

// StopCounter returns NoCounter: programs cannot find out on arm64 whether the hypervisor is KVM, and the counter
// of many machines advances only once in dozens of nanoseconds.
func StopCounter() CounterMethod { return NoCounter }

// BestCounter returns NoCounter, for the second of these reasons.
func BestCounter() CounterMethod { return NoCounter }

// hasHypervisor reports that every machine is a VM, because programs cannot ask the CPU.
func hasHypervisor() bool { return true }
