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
	// firstRefill is the length of the first refill after a seeding or a tick, in bytes; each next one is twice as long.
	// So the bytes that a new generation of the kernel or the next tick discards are in proportion to the used ones.
	firstRefill = 256
	// yieldInterval is the number of bytes generated, in some 16 µs, before other goroutines may run.
	yieldInterval = 4 * drbg.MaxRequest
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
	// The first seeding finds the address of the kernel's generation.
	var unused [8]byte
	servePart(simulation, unused[:])
	return true
}

// Protections returns this process's policy, and the weakest kind of memory that its state is in; no policy if it
// keeps no state. A request must have come before.
func Protections() (*guard.Policy, guard.MemoryKind) {
	if !isReady() {
		return nil, guard.NoMemory
	}
	policy := guard.ThisPolicy()
	policy.WaitUntilSettled()
	return policy, allShards.Load().kind
}

// serveOnce fills out under one epoch; false if the epoch changed meanwhile.
func serveOnce(kind requestKind, out []byte) bool {
	guard.ThisPolicy().Settle()
	isLong := len(out) > drbg.MaxRequest
	var first guard.Epoch
	if isLong {
		first = currentEpoch()
	}
	for part, rest := split(out); len(part) > 0; part, rest = split(rest) {
		if !servePart(kind, part) {
			return false
		}
	}
	return !isLong || (first.Kernel != 0 && currentEpoch() == first)
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

// servePart fills one request to the generator; false if the epoch changed meanwhile.
func servePart(kind requestKind, out []byte) bool {
	page := pin()
	if page == nil {
		return false
	}
	request := request{policy: guard.ThisPolicy(), page: page, left: page.Left + page.LeftOffFastPath}
	page.Left, page.LeftOffFastPath = 0, 0
	ok := request.serve(kind, out)
	page.Wipe()
	if !ok {
		request.discard()
		page.ForgetTag() // the epoch may be another one than the tag's
	}
	if request.policy.TagSuffices() {
		page.Left = request.left
	} else {
		page.LeftOffFastPath = request.left
	}
	unpin(page, len(out))
	return ok
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
	// hasNewTag is set if the page got its freshness tag in this request. Otherwise the tag alone shows that nothing has
	// changed since the page was last found to be current.
	hasNewTag bool
}

func (r *request) serve(kind requestKind, out []byte) bool {
	page := r.page
	wasFresh := r.policy.TagSuffices() && page.IsFresh(guard.CurrentTag())
	if !wasFresh && (!r.isCurrent() || r.isOutdated()) {
		r.discard()
		if !r.seed() {
			return false
		}
	}
	r.hasNewTag = !wasFresh
	page.NeedsPads = needsPads(r.policy)
	mayBeServed := r.produce(kind, out)
	isUnchanged := !r.hasNewTag && page.IsFresh(guard.CurrentTag())
	// The epoch has no tick: it does not show a process that was restored since the bytes were made.
	epochSuffices := mayBeServed && (r.hasNewTag || len(out) > maxBuffered)
	return isUnchanged || (epochSuffices && r.isCurrent()) || failpoint.CheckBeforeRead.IsActive()
}

// needsPads reports whether requests need pads. A test replaces it.
var needsPads = (*guard.Policy).MayBeUnnoticedCopy

// isCurrent reports whether everything read from the page so far was there and belongs to the current epoch.
func (r *request) isCurrent() bool {
	epoch, ok := r.policy.Epoch(r.page)
	return ok && r.page.IsCurrent(epoch)
}

// isFresh reports whether everything read so far was made under the tag under which the state was last used.
func (r *request) isFresh() bool { return r.page.IsFresh(guard.TagUnder(r.page.Generation())) }

// beginTick discards the buffer if the tag under which the state was last used is over. It reports whether it is: the
// state must then take additional input before it is used.
func (r *request) beginTick() bool {
	if r.isFresh() {
		return false
	}
	guard.FollowTick()
	r.discard()
	r.page.Refill = 0
	r.page.NeedsPads = needsPads(r.policy)
	r.page.SetFreshnessTag(guard.TagUnder(r.page.Generation()))
	r.hasNewTag = true
	return true
}

// produce fills out from the buffer or in place; false if the bytes may have been made before this process was restored.
func (r *request) produce(kind requestKind, out []byte) bool {
	if len(out) > maxBuffered {
		r.generateInOneTick(out)
		return true
	}
	r.beginTick()
	if r.left < uint64(len(out)) {
		r.refill()
	}
	r.left -= uint64(len(out))
	take(out, bufferAt(r.page, r.left))
	if kind == strict && r.page.NeedsPads {
		pad(r.page, out)
	}
	return r.isFresh()
}

// refill refills the buffer and overwrites the few bytes that were left. It draws only one word of the random
// instruction, because a word takes hundreds of cycles on some CPUs.
func (r *request) refill() {
	page := r.page
	length := min(max(page.Refill, firstRefill), guard.BufferLen)
	page.Refill = 2 * length
	r.left = length
	r.generate(page.Buffer[:length], 1)
}

// generateInOneTick fills out from the state. If the tick moves on, it does so once more: the process may have been
// restored meanwhile. Once is enough, and a slow machine gets no further.
//
// Requests of both kinds get additional input where a copy may run unnoticed: output without input would tell one copy
// the key of another that mixes in input.
func (r *request) generateInOneTick(out []byte) {
	for range 2 {
		var words uint64
		if r.beginTick() || r.page.NeedsPads || r.policy.NeedsInput() {
			words = 2
		}
		r.generate(out, words)
		if r.isFresh() {
			return
		}
	}
}

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
	serveInOneEpoch(guard.ThisPolicy().Shown, func() bool { return freshOnce(out) })
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
