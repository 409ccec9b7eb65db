//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"github.com/squall-rng/squall/go/internal/failpoint"
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
	if failpoint.IgnoreStops.IsActive() {
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

// Stretch is a stretch of time with readings of the counter. Between the first and the last of them the machine
// was not stopped, unless the stretch is broken.
type Stretch struct {
	last     Reading
	isBroken bool
}

// BeginStretch begins a stretch with its first reading.
func BeginStretch(first Reading) Stretch { return Stretch{last: first} }

// Continue adds the next reading.
func (s *Stretch) Continue(now Reading) {
	s.isBroken = s.isBroken || !now.provesNoStopSince(s.last)
	s.last = now
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

// hypervisorAnnounced is [hasHypervisor], unless a test replaces it.
var hypervisorAnnounced = hasHypervisor
