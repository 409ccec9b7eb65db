//go:build linux && amd64 && !purego

package local

import (
	"runtime"
	"sync/atomic"

	"github.com/squall-rng/squall/go/internal/aes256"
	"github.com/squall-rng/squall/go/internal/drbg"
	"github.com/squall-rng/squall/go/internal/guard"
	"github.com/squall-rng/squall/go/internal/kernel"
	"github.com/squall-rng/squall/go/internal/seam"
)

const (
	// firstRefill is the first refill after a seeding, in bytes; each next one is twice as long. What
	// a new generation of the kernel makes worthless is then in proportion to what was used.
	firstRefill = 256
	// turn is how many bytes are generated, in some 16 µs, before others may run.
	turn = 4 * drbg.MaxRequest
	// attempts is how often a request is started over when the epoch changes under it. After that it
	// is served afresh: somebody is forcing reseeds faster than requests can be served.
	attempts = 8
)

// want is what is asked for.
type want int

const (
	// wantBytes is bytes: a key or a nonce, for all we know.
	wantBytes want = iota
	// wantNumber is a number, which a clone that is told late may be given too.
	wantNumber
)

var (
	// Reseeds counts seedings of generators in this process and those it was forked from.
	Reseeds atomic.Uint64
	// Discarded counts bytes that were generated and thrown away unused, likewise.
	Discarded atomic.Uint64
)

// serve fills out, whatever the state.
func serve(want want, out []byte) {
	if len(out) == 0 {
		return
	}
	if !isReady() {
		kernel.Fill(out)
		return
	}
	for range attempts {
		if serveOnce(want, out) {
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
	masked.Store(guard.ThisPolicy().HearsLate())
	ready.Store(true)
	return true
}

// serveOnce fills out under one epoch; false if that changed meanwhile.
func serveOnce(want want, out []byte) bool {
	isLong := len(out) > drbg.MaxRequest
	var first guard.Epoch
	for part, rest := split(out); len(part) > 0; part, rest = split(rest) {
		epoch, ok := servePart(want, part)
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
func servePart(want want, out []byte) (guard.Epoch, bool) {
	page := pin()
	if page == nil {
		return guard.Epoch{}, false
	}
	request := request{policy: guard.ThisPolicy(), page: page, left: page.Left + page.Held}
	page.Left, page.Held = 0, 0
	epoch, ok := request.serve(want, out)
	page.Wipe()
	if !ok {
		request.discard()
	}
	if request.policy.MomentSuffices() {
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

func (r *request) serve(want want, out []byte) (guard.Epoch, bool) {
	if _, isCurrent := r.epoch(); !isCurrent || r.isOutdated() {
		r.discard()
		if !r.seed() {
			return guard.Epoch{}, false
		}
	}
	r.produce(want, out)
	epoch, isCurrent := r.epoch()
	return epoch, isCurrent || seam.Recheck.Off()
}

// epoch is the epoch now, and whether everything read from the page so far was there and belongs to
// it.
func (r *request) epoch() (guard.Epoch, bool) {
	epoch, ok := r.policy.Epoch(r.page)
	return epoch, ok && r.page.IsCurrent(epoch)
}

// produce writes out, from the buffer or in place.
func (r *request) produce(want want, out []byte) {
	isSmall := len(out) <= small
	isHedged := false
	switch r.policy.Hedging(r.page.Generation()) {
	case guard.HedgeAll:
		isHedged = true
	case guard.HedgeBytes:
		isHedged = want == wantBytes && !isSmall
	}
	if isHedged || !isSmall {
		r.generate(out, isHedged)
		return
	}
	if !r.page.IsLeased(guard.MomentUnder(r.page.Generation())) {
		r.discard()
		r.page.Refill = 0
	}
	if r.left < uint64(len(out)) {
		r.refill()
	}
	r.left -= uint64(len(out))
	take(out, bufferAt(r.page, r.left))
	if want == wantBytes && masked.Load() {
		aes256.Mask(&r.page.MaskKeys, out)
	}
}

// refill fills the buffer anew; what little was left is overwritten.
func (r *request) refill() {
	length := min(max(r.page.Refill, firstRefill), guard.BufferLen)
	r.page.Refill = 2 * length
	r.page.BeginLease(guard.MomentUnder(r.page.Generation()))
	r.generate(r.page.Buffer[:length], true)
	r.left = length
}

// generate runs the generator; if hedged, with the cycle counter and the CPU's random instruction as
// additional input.
func (r *request) generate(out []byte, hedged bool) {
	generator := generator(r.page, &r.page.State)
	if !hedged {
		generator.Generate(out, nil)
		return
	}
	noise(&r.page.Seed)
	generator.Generate(out, &r.page.Seed)
}

// generator is the one with this state, which is in the page.
func generator(page *guard.Page, state *[guard.StateLen]byte) drbg.DRBG {
	return drbg.DRBG{Engine: aes256.Best(), State: state, Keys: &page.Keys, Block: &page.Block}
}

// discard gives up what the buffer still holds.
func (r *request) discard() {
	if r.left > 0 {
		Discarded.Add(r.left)
		r.left = 0
	}
}
