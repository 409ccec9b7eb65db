//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"github.com/squall-rng/squall/go/internal/failpoint"
)

// Whether the machine may have been stopped between two readings of the cycle counter.
//
// To be cloned, a virtual CPU must leave the guest, be saved, be restored and enter the guest again; and
// the guest's counter goes on from the value that was saved after it had left. So a stop cannot hide
// between two readings on one CPU that are less than a gap apart.
//
// That is a property of the hypervisor's code, so it is relied on only where that is known: on KVM.
// Others might hide from the guest how long it was stopped.

// usualGap is less than any stop takes, in cycles: KVM takes more to leave the guest, to return to the
// monitor and to enter again, with a counter of 1 GHz or more.
const usualGap = 1000

// gap is that, unless a test says otherwise.
func gap() uint64 {
	const endless = 1<<64 - 1
	if failpoint.Stops.Off() {
		return endless
	}
	return failpoint.Gap(usualGap)
}

// Reading is one of the cycle counter. CPU tells whose it is: it is another value for each CPU, one of
// no CPU if the thread was moved in the middle of the reading, and never 0.
type Reading struct{ Count, CPU uint64 }

// isWithinGap tells whether the reading came less than a gap after the counter had shown count. If it shows
// less now, it did not; nor if it shows the same, because a counter that stands still shows nothing.
func (r Reading) isWithinGap(count uint64) bool { return r.Count-count-1 < gap()-1 }

// follows tells whether the machine was not stopped since an earlier reading.
func (r Reading) follows(earlier Reading) bool {
	return r.isWithinGap(earlier.Count) && r.CPU == earlier.CPU
}

// Counter is how the cycle counter and the number of its CPU are read.
type Counter uint32

const (
	// NoCounter is not at all: stops may not show in it, or it cannot be told whose it is.
	NoCounter Counter = iota
	// RDTSCP is by the instruction of that name.
	RDTSCP
	// RDPID is by RDTSC between two RDPID.
	RDPID
)

// announcesHypervisor is [hasHypervisor]; a test puts another answer there.
var announcesHypervisor = hasHypervisor
