//go:build linux && (amd64 || arm64) && !purego

package generator

import (
	"runtime"
	"sync/atomic"

	"github.com/squall-rng/squall/go/internal/aes256"
	"github.com/squall-rng/squall/go/internal/drbg"
	"github.com/squall-rng/squall/go/internal/failpoint"
	"github.com/squall-rng/squall/go/internal/guard"
	"github.com/squall-rng/squall/go/internal/kernel"
)

const (
	// firstRefill is the first refill after a seeding, in bytes; each next one is twice as long. What
	// a new generation of the kernel makes worthless is then in proportion to what was used.
	firstRefill = 256
	// turn is how many bytes are generated, in some 16 µs, before others may run.
	turn = 4 * drbg.MaxRequest
	// heldRefills is how many refills are no longer than the last one when a longer one took too long to
	// be an anchor: to try costs a refill and the pads that follow it.
	heldRefills = 16
	// attempts is how often a request is started over when the epoch changes under it. After that it
	// is served afresh: somebody is forcing reseeds faster than requests can be served.
	attempts = 8
)

// requestKind is what is asked for.
type requestKind int

const (
	// strict is what must not repeat in any copy of this process or machine.
	strict requestKind = iota
	// simulation is a number that may repeat in a clone of the machine that is noticed late, or never.
	simulation
)

var (
	// Reseeds counts seedings of generators in this process and those it was forked from.
	Reseeds atomic.Uint64
	// Discarded counts bytes that were generated and thrown away unused, likewise.
	Discarded atomic.Uint64
)

// serve fills out, whatever the state.
func serve(kind requestKind, out []byte) {
	if len(out) == 0 {
		return
	}
	if !isReady() {
		kernel.Fill(out)
		return
	}
	for range attempts {
		if serveOnce(kind, out) {
			return
		}
	}
	Fresh(out)
}

// What is known of whether this process can have state: a fork does not change it.
var ready, stateless atomic.Bool

// isReady makes sure that the kernel's RNG is ready, and tells whether this process can have state.
func isReady() bool {
	if ready.Load() {
		return true
	}
	if stateless.Load() || aes256.Best() == aes256.None || !guard.WaitForKernel() {
		return false
	}
	page := pin()
	if page == nil {
		stateless.Store(true)
		return false
	}
	guard.Unpin()
	guard.Decide()
	ready.Store(true)
	return true
}

// serveOnce fills out under one epoch; false if that changed meanwhile.
func serveOnce(kind requestKind, out []byte) bool {
	isLong := len(out) > drbg.MaxRequest
	var first guard.Epoch
	for part, rest := split(out); len(part) > 0; part, rest = split(rest) {
		epoch, ok := servePart(kind, part)
		if !ok || (first != guard.Epoch{} && epoch != first) {
			return false
		}
		first = epoch
	}
	return !isLong || epochNow() == first
}

// split cuts off what one request to a generator can fill. An iterator, as slices.Chunk is, would have
// what the caller keeps on the stack moved to the heap.
func split(out []byte) (part, rest []byte) {
	length := min(len(out), drbg.MaxRequest)
	return out[:length], out[length:]
}

// epochNow is the epoch now; none if it cannot be told.
func epochNow() guard.Epoch {
	page := pin()
	if page == nil {
		return guard.Epoch{}
	}
	epoch, _ := guard.ThisPolicy().Epoch(page)
	guard.Unpin()
	return epoch
}

// servePart fills one request to the generator, and tells the epoch it belongs to.
func servePart(kind requestKind, out []byte) (guard.Epoch, bool) {
	page := pin()
	if page == nil {
		return guard.Epoch{}, false
	}
	request := request{policy: guard.ThisPolicy(), page: page, left: page.Left + page.Held}
	page.Left, page.Held = 0, 0
	epoch, ok := request.serve(kind, out)
	page.Wipe()
	if !ok {
		request.discard()
	}
	if request.policy.TagSuffices() {
		page.Left = request.left
	} else {
		page.Held = request.left
	}
	unpin(page, len(out))
	return epoch, ok
}

// unpin ends a request of so many bytes. Now and then it lets others run: a wish of the scheduler to stop
// this goroutine that came while it was pinned is forgotten, and who does little else but draw would
// have the garbage collector wait for long.
func unpin(page *guard.Page, length int) {
	page.Drawn += uint64(length)
	isTurn := page.Drawn >= turn
	if isTurn {
		page.Drawn = 0
	}
	guard.Unpin()
	if isTurn {
		runtime.Gosched()
	}
}

// request is a request that has its P's page to itself.
type request struct {
	policy *guard.Policy
	page   *guard.Page
	// left is how many bytes of the buffer are unread.
	left uint64
}

func (r *request) serve(kind requestKind, out []byte) (guard.Epoch, bool) {
	if _, isCurrent := r.epoch(); !isCurrent || r.isOutdated() {
		r.discard()
		if !r.seed() {
			return guard.Epoch{}, false
		}
	}
	r.page.Rule, r.page.Counter = ruleUnder(r.policy, r.page.Generation())
	r.produce(kind, out)
	epoch, isCurrent := r.epoch()
	return epoch, isCurrent || failpoint.Recheck.Off()
}

// ruleUnder is what becomes of the buffer's bytes under the kernel's generation, and how bursts are known.
// A test puts another one there.
var ruleUnder = func(policy *guard.Policy, generation uint64) (guard.Rule, guard.Counter) {
	if !policy.FollowsGaps(generation) {
		return guard.AsTheyAre, guard.NoCounter
	}
	counter := guard.CounterOfStops()
	if counter == guard.NoCounter || !aes256.HasRandom() {
		return guard.PadAll, guard.NoCounter
	}
	return guard.FollowGaps, counter
}

// epoch is the epoch now, and whether everything read from the page so far was there and belongs to
// it.
func (r *request) epoch() (guard.Epoch, bool) {
	epoch, ok := r.policy.Epoch(r.page)
	return epoch, ok && r.page.IsCurrent(epoch)
}

// produce writes out, from the buffer or in place.
func (r *request) produce(kind requestKind, out []byte) {
	if len(out) > small {
		var words uint64
		if kind == strict && r.page.Rule != guard.AsTheyAre {
			words = 2
		}
		r.generate(out, words)
		return
	}
	if !r.page.IsFresh(guard.TagUnder(r.page.Generation())) {
		r.discard()
		r.page.Refill = 0
	}
	if r.left < uint64(len(out)) {
		r.refill()
	}
	r.left -= uint64(len(out))
	if kind == simulation {
		take(out, bufferAt(r.page, r.left))
		return
	}
	r.left = give(r.page, out, r.left)
}

// refill fills the buffer anew; what little was left is overwritten. Where gaps are followed, that is the
// anchor of a burst if it took less than a gap: the state may have been copied before, but not the word of
// the random instruction, which is drawn behind the first reading. One word, as that takes hundreds of
// cycles on some CPUs.
func (r *request) refill() {
	page := r.page
	length := min(max(page.Refill, firstRefill), guard.BufferLen)
	page.Refill = 2 * length
	page.SetFreshnessTag(guard.TagUnder(page.Generation()))
	r.left = length
	if page.Rule != guard.FollowGaps {
		page.Anchor(guard.Reading{}, guard.Reading{}, false)
		r.generate(page.Buffer[:length], 1)
		return
	}
	before := reading(page)
	hasWord := r.generate(page.Buffer[:length], 1)
	isAnchor := page.Anchor(before, reading(page), hasWord)
	switch {
	case isAnchor && page.Holds > 0:
		page.Holds--
		page.Refill = length
	case isAnchor:
	case length == firstRefill:
		page.BackOff()
	case !page.IsBackedOff():
		page.Holds = heldRefills
		page.Refill = length / 2
	}
}

// generate runs the generator; with words of the CPU's random instruction, and the cycle counter, as
// additional input if there are to be any. It tells whether the instruction gave one.
func (r *request) generate(out []byte, words uint64) (hasWord bool) {
	drbg := newDRBG(r.page, &r.page.State)
	if words == 0 {
		drbg.Generate(out, nil)
		return false
	}
	hasWord = noise(&r.page.Seed, words)
	drbg.Generate(out, &r.page.Seed)
	return hasWord
}

// newDRBG is the generator with this state, which is in the page.
func newDRBG(page *guard.Page, state *[guard.StateLen]byte) drbg.DRBG {
	return drbg.DRBG{Engine: aes256.Best(), State: state, Keys: &page.Keys, Block: &page.Block}
}

// discard gives up what the buffer still holds.
func (r *request) discard() {
	if r.left > 0 {
		Discarded.Add(r.left)
		r.left = 0
	}
}
