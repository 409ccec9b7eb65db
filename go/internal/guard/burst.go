//go:build linux && (amd64 || arm64) && !purego

package guard

import "github.com/squall-rng/squall/go/internal/failpoint"

// Bursts: requests in such quick succession that the machine was not stopped between them.
//
// The buffer that a burst is served from was made in it, with a word of the CPU's random instruction: that
// is the burst's anchor. So no other copy of this machine has the buffer's bytes, and they may leave as
// they are. After a pause, in which the machine may have been cloned, a request gets a pad. When several
// of those have followed one another quickly, the buffer is made anew, and that is the anchor of the next
// burst.

// Rule is what becomes of bytes that are taken from the buffer.
type Rule uint32

const (
	// AsTheyAre is that they leave as they are: a clone of this machine is noticed before it is served.
	AsTheyAre Rule = iota
	// PadAll is that every request gets a pad: a clone may run unnoticed, and stops do not show.
	PadAll
	// FollowGaps is that every request gets a pad that is not of a burst.
	FollowGaps
)

const (
	// enoughPads is how many requests with a pad, one soon after the other, are followed by a new buffer.
	// To make one takes about as long as so many pads.
	enoughPads = 8
	// mostPads is the same where buffers cannot be made within a gap, at most.
	mostPads = 1024
)

// Burst is the readings of requests. Zeros are one that has no anchor.
type Burst struct {
	// Rule is what becomes of the buffer's bytes, and Counter what a burst is read by. Both are set by
	// each request that the fast path leaves to others.
	Rule    Rule
	Counter Counter
	// count is the last reading's, and anchor its CPU, or 0 if the burst has no anchor: so one
	// comparison tells both.
	count, anchor uint64
}

// Streak is what is known of requests that got a pad.
type Streak struct {
	// length is how many followed one another so far.
	length uint32
	// enough is how many are followed by a new buffer.
	enough uint32
	// isAnchored tells whether the buffer was made as an anchor.
	isAnchored bool
}

// BeginBursts forgets all of earlier ones.
func (p *Page) BeginBursts() {
	p.Burst = Burst{}
	p.Streak = Streak{enough: enoughPads}
}

// GoesOn tells whether bytes that were read before now belong to this copy of the machine alone, and if so
// records the reading.
func (p *Page) GoesOn(now Reading) bool {
	if !now.follows(Reading{p.count, p.anchor}) {
		return false
	}
	p.count = now.Count
	return true
}

// Pause records the reading of a request that gets a pad. It tells whether the rest of the buffer is
// to be given up, so that requests that come as quickly need none.
func (p *Page) Pause(now Reading) bool {
	length := uint32(1)
	if now.isWithinGap(p.count) {
		length += p.Streak.length
	}
	p.end(now)
	p.Streak.length = length
	return length >= p.enough
}

// Anchor records that the buffer was made between two readings, and that behind the first of them the
// random instruction gave a word, if it did; and tells whether that is an anchor.
func (p *Page) Anchor(before, after Reading, hasWord bool) bool {
	p.end(after)
	p.isAnchored = hasWord && after.follows(before)
	if p.isAnchored {
		p.anchor = after.CPU
		p.enough = enoughPads
	}
	return p.isAnchored
}

// BackOff has the next buffer wait for more requests than the last one did, because the shortest one took
// too long.
func (p *Page) BackOff() { p.enough = min(2*p.enough, mostPads) }

// IsBackedOff tells whether it does.
func (p *Page) IsBackedOff() bool { return p.enough > enoughPads }

// IsAnchored tells whether the buffer was made as an anchor, whether or not there was a pause since.
func (p *Page) IsAnchored() bool { return p.isAnchored }

// end ends the burst with a reading.
func (p *Page) end(now Reading) {
	p.count, p.anchor = now.Count, 0
	if failpoint.Anchors.Off() {
		p.anchor = now.CPU
	}
	p.Streak.length = 0
}
