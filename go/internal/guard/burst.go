//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"github.com/squall-rng/squall/go/internal/aes256"
	"github.com/squall-rng/squall/go/internal/failpoint"
)

// Detects whether the machine may have been stopped between two readings of the cycle counter, and which requests
// are so close to one another that it was not.
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

// NewStretch returns a stretch with these readings.
func NewStretch(first Reading, others ...Reading) Stretch {
	within := Stretch{last: first}
	for _, now := range others {
		within.Continue(now)
	}
	return within
}

// Continue adds the next reading.
func (s *Stretch) Continue(now Reading) {
	s.isBroken = s.isBroken || !now.provesNoStopSince(s.last)
	s.last = now
}

// hypervisorAnnounced is [hasHypervisor], unless a test replaces it.
var hypervisorAnnounced = hasHypervisor

// Bursts: requests in such quick succession that the machine was not stopped between them.
//
// A burst is served from a buffer that was refilled within it, with a word of the CPU's random
// instruction. This refill is the burst's anchor: no other copy of this machine has the buffer's bytes, so
// they may leave unpadded. After a pause, in which the machine may have been cloned, a request gets a pad.
// When several padded requests have followed one another quickly, the buffer is refilled, and that is the
// anchor of the next burst.

// Rule decides which bytes from the buffer get a request pad.
type Rule uint32

const (
	// Unpadded adds no pads: a clone of this machine is noticed before it is served.
	Unpadded Rule = iota
	// PadAlways pads every request: a clone may run unnoticed, and the counter does not show stops.
	PadAlways
	// PadAfterPause pads every request that is not part of a burst.
	PadAfterPause
)

const (
	// padsBeforeRefill is the number of padded requests in quick succession after which the buffer is
	// refilled. A refill takes about as long as that many pads.
	padsBeforeRefill = 8
	// maxPadsBeforeRefill is the maximum of that number if refills take longer than a gap.
	maxPadsBeforeRefill = 1024
)

// Burst holds the readings of a burst. All zeros mean a burst without an anchor.
type Burst struct {
	// Rule decides about pads, and CounterMethod reads the counter. Each request off the fast path sets both.
	Rule          Rule
	CounterMethod aes256.CounterMethod
	// count is the last reading's count. anchor is its CPU, or 0 if the burst has no anchor, so one
	// comparison checks both.
	count, anchor uint64
}

// Streak counts padded requests.
type Streak struct {
	// length is the number of padded requests in quick succession so far.
	length uint32
	// padsWanted is the length after which the buffer is refilled.
	padsWanted uint32
	// isAnchored is set if the last refill was an anchor.
	isAnchored bool
}

// ResetBursts forgets earlier bursts and padded requests.
func (p *Page) ResetBursts() {
	p.Burst = Burst{}
	p.Streak = Streak{padsWanted: padsBeforeRefill}
}

// ContinuesBurst reports whether bytes that were read before now belong to this copy of the machine alone.
// If so, it records the reading.
func (p *Page) ContinuesBurst(now Reading) bool {
	if !now.provesNoStopSince(Reading{p.count, p.anchor}) {
		return false
	}
	p.count = now.Count
	return true
}

// Pause records the reading of a padded request. It reports whether the rest of the buffer should be
// discarded, so that the next requests in quick succession need no pads.
func (p *Page) Pause(now Reading) bool {
	length := uint32(1)
	if now.isWithinGap(p.count) {
		length += p.Streak.length
	}
	p.endBurst(now)
	p.Streak.length = length
	return length >= p.padsWanted
}

// RecordRefill records that the buffer was refilled within a stretch of time, and whether the random
// instruction gave a word after its first reading. It reports whether the refill is an anchor.
func (p *Page) RecordRefill(within Stretch, hasWord bool) bool {
	p.endBurst(within.last)
	p.isAnchored = hasWord && !within.isBroken
	if p.isAnchored {
		p.anchor = within.last.CPU
		p.padsWanted = padsBeforeRefill
	}
	return p.isAnchored
}

// BackOff doubles the number of pads before the next refill, because even the shortest refill took too long.
func (p *Page) BackOff() { p.padsWanted = min(2*p.padsWanted, maxPadsBeforeRefill) }

// IsBackedOff reports whether BackOff has raised that number.
func (p *Page) IsBackedOff() bool { return p.padsWanted > padsBeforeRefill }

// IsAnchored reports whether the last refill was an anchor, even if there was a pause since.
func (p *Page) IsAnchored() bool { return p.isAnchored }

// endBurst ends the burst with a reading.
func (p *Page) endBurst(now Reading) {
	p.count, p.anchor = now.Count, 0
	if failpoint.SkipBurstAnchors.IsActive() {
		p.anchor = now.CPU
	}
	p.Streak.length = 0
}
