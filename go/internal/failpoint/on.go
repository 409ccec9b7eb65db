//go:build squall_testing

package failpoint

import "sync/atomic"

var switches, gap atomic.Uint64

// Off tells whether a test turned the guard off.
func (s Failpoint) Off() bool { return switches.Load()>>s&1 != 0 }

// TurnOff turns the guard off, in the whole process and for good. To be called before anything
// is drawn.
func (s Failpoint) TurnOff() { switches.Or(1 << s) }

// Gap is the one that was set, in cycles, or else the usual one.
func Gap(usual uint64) uint64 {
	if set := gap.Load(); set != 0 {
		return set
	}
	return usual
}

// SetGap sets the gap, in cycles: an emulated CPU takes more of them for a request.
func SetGap(cycles uint64) { gap.Store(cycles) }

// Named is the guard with the name of its constant.
func Named(name string) (guard Failpoint, isKnown bool) {
	guard, isKnown = map[string]Failpoint{
		"GenerationCheck": GenerationCheck, "GenerationPlace": GenerationPlace, "VDSO": VDSO, "ForkGuard": ForkGuard,
		"Droppable": Droppable, "Recheck": Recheck, "DelayedNotification": DelayedNotification, "Stops": Stops,
		"Anchors": Anchors, "KVM": KVM, "NoKVM": NoKVM, "Settled": Settled, "CloneSignal": CloneSignal, "VMGenID": VMGenID,
		"Pin": Pin, "FreshCheck": FreshCheck, "SeedAge": SeedAge, "Noise": Noise, "BareMetal": BareMetal,
		"Announced": Announced, "KernelBytes": KernelBytes,
	}[name]
	return guard, isKnown
}
