//go:build squall_testing

package failpoint

import "sync/atomic"

var switches, gap atomic.Uint64

// IsActive reports whether a test activated the failpoint.
func (s Failpoint) IsActive() bool { return switches.Load()>>s&1 != 0 }

// Activate activates the failpoint in the whole process and permanently. It must be called before any
// request.
func (s Failpoint) Activate() { switches.Or(1 << s) }

// Gap returns the gap that a test has set, in cycles, or else the usual one.
func Gap(usual uint64) uint64 {
	if set := gap.Load(); set != 0 {
		return set
	}
	return usual
}

// SetGap sets the gap, in cycles: an emulated CPU takes more of them for a request.
func SetGap(cycles uint64) { gap.Store(cycles) }

// Named returns the failpoint whose constant has this name.
func Named(name string) (failpoint Failpoint, isKnown bool) {
	failpoint, isKnown = map[string]Failpoint{
		"FreezeGeneration": FreezeGeneration, "HideGenerationAddress": HideGenerationAddress, "HideVDSO": HideVDSO, "SkipForkGuard": SkipForkGuard,
		"RefuseDroppable": RefuseDroppable, "CheckBeforeRead": CheckBeforeRead, "SkipUnnotifiedCloneGuard": SkipUnnotifiedCloneGuard, "IgnoreStops": IgnoreStops,
		"SkipBurstAnchors": SkipBurstAnchors, "HideKVM": HideKVM, "PretendKVM": PretendKVM, "PretendReseedPending": PretendReseedPending, "HideCloneSignal": HideCloneSignal, "HideVMGenID": HideVMGenID,
		"SkipPin": SkipPin, "SkipFreshCheck": SkipFreshCheck, "FreezeSeedAge": FreezeSeedAge, "SkipNoise": SkipNoise, "SkipPadNoise": SkipPadNoise, "ZeroPadNumbers": ZeroPadNumbers, "PretendVM": PretendVM,
		"HideHypervisorAnnouncement": HideHypervisorAnnouncement, "ZeroKernelBytes": ZeroKernelBytes,
	}[name]
	return failpoint, isKnown
}
