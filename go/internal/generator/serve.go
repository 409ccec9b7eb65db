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
	// firstRefill is the length of the first refill after a seeding, in bytes; each next one is twice as long.
	// So the bytes that a new generation of the kernel makes worthless are in proportion to the used ones.
	firstRefill = 256
	// yieldInterval is the number of bytes generated, in some 16 µs, before other goroutines may run.
	yieldInterval = 4 * drbg.MaxRequest
	// refillPiece is the number of bytes that AES-NI generates in a refill between two readings of the counter: on
	// an Intel Xeon of 2019 (Cascade Lake) in half a gap. With VAES, the whole buffer takes less than a gap.
	refillPiece = 512
	// shortRefills is the number of refills that stay as short as the last one after a longer one took too
	// long to be an anchor. Each further try costs a refill and the pads that follow it.
	shortRefills = 16
	// attempts is the number of times a request is repeated because the epoch changed during it. After that it
	// is served from a new seed: somebody forces reseeds faster than requests can be served.
	attempts = 8
)

// requestKind is the kind of a request.
type requestKind int

const (
	// strict requests bytes that no copy of this process or machine may repeat.
	strict requestKind = iota
	// simulation requests a number that a clone of the machine may repeat, if it is noticed late or never.
	simulation
)

var (
	// Reseeds counts seedings of generators in this process and its ancestors by fork.
	Reseeds atomic.Uint64
	// Discarded counts bytes that were generated and discarded unused, in the same processes.
	Discarded atomic.Uint64
)

// serve fills out, whether this process has state or not.
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

// Whether this process is known to have state, or known to have none; a fork does not change it.
var ready, stateless atomic.Bool

// isReady makes sure that the kernel's RNG is ready, and reports whether this process can have state.
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

// Protections returns this process's policy, and the weakest kind of memory that its state is in; no policy if it
// keeps no state. A request must have come before.
func Protections() (*guard.Policy, guard.MemoryKind) {
	if !isReady() {
		return nil, guard.NoMemory
	}
	return guard.ThisPolicy(), allShards.Load().kind
}

// CounterShowsStops reports whether requests in a burst need no pad.
func CounterShowsStops(policy *guard.Policy) bool {
	rule, _ := ruleFor(policy, policy.Generation())
	return rule == guard.PadAfterPause
}

// serveOnce fills out under one epoch; false if the epoch changed meanwhile.
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
	return !isLong || currentEpoch() == first
}

// split cuts off the part that one request to a generator can fill. An iterator, like slices.Chunk, would
// move the caller's stack variables to the heap.
func split(out []byte) (part, rest []byte) {
	length := min(len(out), drbg.MaxRequest)
	return out[:length], out[length:]
}

// currentEpoch returns the current epoch; the zero epoch if it is unknown.
func currentEpoch() guard.Epoch {
	page := pin()
	if page == nil {
		return guard.Epoch{}
	}
	epoch, _ := guard.ThisPolicy().Epoch(page)
	guard.Unpin()
	return epoch
}

// servePart fills one request to the generator, and returns the epoch that its bytes belong to.
func servePart(kind requestKind, out []byte) (guard.Epoch, bool) {
	page := pin()
	if page == nil {
		return guard.Epoch{}, false
	}
	request := request{policy: guard.ThisPolicy(), page: page, left: page.Left + page.LeftOffFastPath}
	page.Left, page.LeftOffFastPath = 0, 0
	epoch, ok := request.serve(kind, out)
	page.Wipe()
	if !ok {
		request.discard()
	}
	if request.policy.TagSuffices() {
		page.Left = request.left
	} else {
		page.LeftOffFastPath = request.left
	}
	unpin(page, len(out))
	return epoch, ok
}

// unpin ends a request of this length. At intervals it lets other goroutines run: a preemption request that
// arrives while the goroutine is pinned is lost, so a goroutine that only draws would keep the garbage
// collector waiting.
func unpin(page *guard.Page, length int) {
	page.SinceYield += uint64(length)
	mustYield := page.SinceYield >= yieldInterval
	if mustYield {
		page.SinceYield = 0
	}
	guard.Unpin()
	if mustYield {
		runtime.Gosched()
	}
}

// request is a request that owns its P's page.
type request struct {
	policy *guard.Policy
	page   *guard.Page
	// left is the number of unread bytes of the buffer.
	left uint64
}

func (r *request) serve(kind requestKind, out []byte) (guard.Epoch, bool) {
	if _, isCurrent := r.epoch(); !isCurrent || r.isOutdated() {
		r.discard()
		if !r.seed() {
			return guard.Epoch{}, false
		}
	}
	r.page.Rule, r.page.CounterMethod = ruleFor(r.policy, r.page.Generation())
	r.produce(kind, out)
	epoch, isCurrent := r.epoch()
	return epoch, isCurrent || failpoint.CheckBeforeRead.IsActive()
}

// ruleFor returns the rule for pads under the kernel's generation, and the way to read the counter. A test
// replaces it.
var ruleFor = func(policy *guard.Policy, generation uint64) (guard.Rule, aes256.CounterMethod) {
	if !policy.MayBeUnnotifiedClone(generation) {
		return guard.Unpadded, aes256.NoCounter
	}
	counter := guard.StopCounter()
	if counter == aes256.NoCounter || !aes256.HasRandom() {
		return guard.PadAlways, aes256.NoCounter
	}
	return guard.PadAfterPause, counter
}

// epoch returns the current epoch, and whether everything read from the page so far was there and belongs
// to it.
func (r *request) epoch() (guard.Epoch, bool) {
	epoch, ok := r.policy.Epoch(r.page)
	return epoch, ok && r.page.IsCurrent(epoch)
}

// produce fills out from the buffer or in place.
func (r *request) produce(kind requestKind, out []byte) {
	if len(out) > maxBuffered {
		var words uint64
		if kind == strict && r.page.Rule != guard.Unpadded {
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
	r.left = takeByRule(r.page, out, r.left)
}

// refill refills the buffer and overwrites the few bytes that were left. It draws only one word of the random
// instruction, because a word takes hundreds of cycles on some CPUs.
func (r *request) refill() {
	page := r.page
	length := min(max(page.Refill, firstRefill), guard.BufferLen)
	page.Refill = 2 * length
	page.SetFreshnessTag(guard.TagUnder(page.Generation()))
	r.left = length
	if page.Rule != guard.PadAfterPause {
		page.RecordRefill(guard.Stretch{}, false)
		r.generate(page.Buffer[:length], 1)
		return
	}
	isAnchor := r.beginBurst(page.Buffer[:length])
	switch {
	case isAnchor && page.ShortRefills > 0:
		page.ShortRefills--
		page.Refill = length
	case isAnchor:
	case length == firstRefill:
		page.BackOff()
	case !page.IsBackedOff():
		page.ShortRefills = shortRefills
		page.Refill = length / 2
	}
}

// beginBurst refills the buffer, and reports whether that is the anchor of a burst. It is if no gap between two
// readings was long: a clone may have copied the state before, but not the word of the random instruction, which is
// drawn after the first reading.
func (r *request) beginBurst(buffer []byte) bool {
	page := r.page
	drbg := newDRBG(page, &page.State)
	pieceLen := refillPiece
	if drbg.Engine == aes256.VAES512 {
		pieceLen = len(buffer)
	}
	within := guard.NewStretch(readInRefill(page))
	hasWord := noiseInput(&page.Seed, 1)
	within.Continue(readInRefill(page))
	drbg.Begin(&page.Seed)
	within.Continue(readInRefill(page))
	for len(buffer) > 0 {
		piece := buffer[:min(pieceLen, len(buffer))]
		buffer = buffer[len(piece):]
		drbg.Continue(piece)
		within.Continue(readInRefill(page))
	}
	drbg.End(&page.Seed)
	within.Continue(readInRefill(page))
	return page.RecordRefill(within, hasWord)
}

// readInRefill is readCounter, unless a test replaces it.
var readInRefill = readCounter

// generate runs the generator. If words is not 0, its additional input is the cycle counter and that number
// of words of the CPU's random instruction.
func (r *request) generate(out []byte, words uint64) {
	drbg := newDRBG(r.page, &r.page.State)
	if words == 0 {
		drbg.Generate(out, nil)
		return
	}
	noiseInput(&r.page.Seed, words)
	drbg.Generate(out, &r.page.Seed)
}

// newDRBG returns the generator with this state, which is in the page.
func newDRBG(page *guard.Page, state *[guard.StateLen]byte) drbg.DRBG {
	return drbg.DRBG{Engine: aes256.Best(), State: state, Keys: &page.Keys, Block: &page.Block}
}

// discard gives up the unread bytes of the buffer.
func (r *request) discard() {
	if r.left > 0 {
		Discarded.Add(r.left)
		r.left = 0
	}
}

// Fresh fills out from generators that are used once: each 64 KiB are seeded by new output of the kernel's
// RNG, through a system call, with additional input from the CPU. It uses no other state and leaves none:
// no leak before or after reveals what it returned.
func Fresh(out []byte) {
	if !isReady() {
		kernel.FillFresh(out)
		return
	}
	policy := guard.ThisPolicy()
	if policy.Watch() == guard.Undecided {
		// A seeding finds the address of the kernel's generation.
		var unused [8]byte
		serveOnce(simulation, unused[:])
	}
	serveInOneEpoch(policy.Shown, func() bool { return freshOnce(out) })
}

// serveInOneEpoch repeats serve until the epoch did not change during it: a clone in between would leave
// both sides with the same bytes. Reseeds in quick succession look like clones; they delay a request for a
// limited number of attempts.
func serveInOneEpoch(shown func() guard.Epoch, serve func() bool) {
	for attempt := 1; ; attempt++ {
		before := shown()
		isServed := serve()
		after := shown()
		isSame := after.VM == before.VM && (after.Kernel == before.Kernel || attempt >= attempts)
		if isServed && isSame {
			return
		}
	}
}

// freshOnce fills out part by part; false if a page was emptied meanwhile.
func freshOnce(out []byte) bool {
	for part, rest := split(out); len(part) > 0; part, rest = split(rest) {
		if !freshPart(part) {
			return false
		}
	}
	return true
}

// freshPart fills one request from a new generator; false if the page was emptied meanwhile.
func freshPart(out []byte) bool {
	page := pin()
	if page == nil {
		kernel.FillFresh(out)
		return true
	}
	page.BeginWatch()
	if !guard.FreshSeed(page) {
		guard.Unpin()
		kernel.FillFresh(out)
		return true
	}
	addNoiseToSeed(&page.Seed)
	drbg := newDRBG(page, &page.Once)
	drbg.Reseed(&page.Seed)
	drbg.Generate(out, nil)
	page.Wipe()
	wasThere := page.WasPresent() || failpoint.SkipFreshCheck.IsActive()
	unpin(page, len(out))
	return wasThere
}
