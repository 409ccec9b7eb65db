//go:build squall_testing

package failpoint

import "sync/atomic"

var switches, gap atomic.Uint64

// Off reports whether a test turned the guard off.
func (s Failpoint) Off() bool { return switches.Load()>>s&1 != 0 }

// TurnOff turns the guard off in the whole process and permanently. It must be called before any
// request.
func (s Failpoint) TurnOff() { switches.Or(1 << s) }

// Gap returns the gap that a test has set, in cycles, or else the usual one.
func Gap(usual uint64) uint64 {
	if set := gap.Load(); set != 0 {
		return set
	}
	return usual
}

// SetGap sets the gap, in cycles: an emulated CPU takes more of them for a request.
func SetGap(cycles uint64) { gap.Store(cycles) }

// Named returns the guard whose constant has this name.
func Named(name string) (guard Failpoint, isKnown bool) {
	guard, isKnown = map[string]Failpoint{
		"GenerationCheck": GenerationCheck, "GenerationAddress": GenerationAddress, "VDSO": VDSO, "ForkGuard": ForkGuard,
		"Droppable": Droppable, "CheckAfterRead": CheckAfterRead, "DelayedNotification": DelayedNotification, "StopDetection": StopDetection,
		"BurstAnchors": BurstAnchors, "KVM": KVM, "OtherHypervisors": OtherHypervisors, "ReseedAfterSignal": ReseedAfterSignal, "CloneSignal": CloneSignal, "VMGenID": VMGenID,
		"Pin": Pin, "FreshCheck": FreshCheck, "SeedAge": SeedAge, "Noise": Noise, "PadNoise": PadNoise, "PadNumbers": PadNumbers, "BareMetal": BareMetal,
		"HypervisorAnnouncement": HypervisorAnnouncement, "KernelBytes": KernelBytes,
	}[name]
	return guard, isKnown
}
