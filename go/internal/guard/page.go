//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"runtime"
	"sync/atomic"
	"unsafe" // also for linkname

	"github.com/squall-rng/squall/go/internal/failpoint"
)

// Lengths of a page's parts, in bytes.
const (
	StateLen   = 48  // a generator's key of 32 bytes and counter of 16
	KeysLen    = 240 // the round keys of AES-256
	vdsoLen    = 144 // the vDSO's opaque state in Linux 6.11 to 6.18
	headerLen  = 960
	headerUsed = 14*8 + 4*StateLen + vdsoLen + 2*KeysLen
	BufferLen  = PageSize - headerLen
)

// A page is a Page, whole.
var _ [PageSize]byte = [unsafe.Sizeof(Page{})]byte{}

// Page holds the secrets of one P, and the epoch that the state was seeded under.
//
// The kernel may zero a droppable page at any moment, and a fork empties it in the child: both erase the
// epoch with the secrets. So bytes that were read count only if [Page.IsCurrent] or [Page.IsFresh] holds
// afterwards. The seeding marker is written before a seed is even drawn, and the generation before the
// state: if both are there at the end, nothing in between was lost. Barriers keep this order on CPUs that have
// none of their own (guard_arm64.go).
//
// Only the goroutine that is pinned to the page's P may use it. Any bytes are valid in it.
type Page struct {
	// The complement of the kernel's generation, which is never 0: an empty page has none.
	generation atomic.Uint64
	// The buffer's freshness tag. The complement of the kernel's part is never 0.
	kernelComplement, tagVM atomic.Uint64
	vm                      atomic.Uint64
	seedingMarker           atomic.Uint64

	// Left is the number of unread bytes of the buffer, which are taken from its end. If one comparison
	// cannot show that the page is current, LeftOffFastPath has the number, and Left is 0.
	Left uint64
	// NeedsPads tells whether requests that no copy may repeat get a pad. Each request off the fast path sets it. It is
	// here so that everything a request from the buffer needs, except its bytes, is in 64 bytes.
	NeedsPads bool

	LeftOffFastPath uint64
	// Refill is the length of the next refill, in bytes; 0 for the first.
	Refill uint64
	// SeededAt is the time when the state was seeded, for kernels that do not show their generation: by the
	// monotonic clock and by the wall clock, in nanoseconds.
	SeededAt [2]int64
	// SinceYield is the number of bytes generated since the goroutine last let others run.
	SinceYield uint64
	// presence is 1 unless the page was emptied since [Page.BeginWatch].
	presence atomic.Uint64

	// State is the generator's state.
	State [StateLen]byte
	// PadNumber is the number of the last pad. It only grows while PadKeys stay: an emptied page has neither.
	PadNumber uint64
	// PadKeys are the round keys of request pads.
	PadKeys [KeysLen]byte
	// Once is the state of a generator that serves a single request.
	Once [StateLen]byte
	// Seed is the seed material for a generator: zero between requests.
	Seed [StateLen]byte
	// Keys are the round keys of the request at work: zero between requests.
	Keys [KeysLen]byte
	// Block is the space in which the next state is computed: zero between requests.
	Block [StateLen]byte

	vdso [vdsoLen]byte
	_    [headerLen - headerUsed]byte

	// Buffer is keystream for small requests.
	Buffer [BufferLen]byte
}

// BeginSeeding invalidates the page, and leaves a seeding marker that shows at the end of the seeding
// whether the page stayed intact, in this process, all the time. It must be called before the seed is
// drawn: a fork in between would otherwise leave both sides with the same seed.
func (p *Page) BeginSeeding(vm uint64) {
	p.generation.Store(0)
	p.kernelComplement.Store(0)
	p.vm.Store(vm)
	p.seedingMarker.Store(1)
	markBeforeGoingOn()
}

// SetGeneration declares that all bytes written from now on are seeded under this generation of the kernel's RNG.
func (p *Page) SetGeneration(generation uint64) {
	p.generation.Store(^generation)
	markBeforeGoingOn()
}

// SetFreshnessTag declares that the state and the buffer are used under this tag. It is called before they are.
func (p *Page) SetFreshnessTag(tag Tag) {
	p.kernelComplement.Store(^tag.Kernel)
	p.tagVM.Store(tag.VM)
	markBeforeGoingOn()
}

// ForgetTag declares that the page is not fresh under any tag.
func (p *Page) ForgetTag() {
	p.kernelComplement.Store(0)
	markBeforeGoingOn()
}

// IsFresh reports whether everything read from the buffer before this call was there, and was
// generated under this freshness tag. The fast path calls it while it is pinned, so it must not be a preemption
// point.
//
//go:nosplit
func (p *Page) IsFresh(tag Tag) bool {
	readBeforeChecking()
	return p.kernelComplement.Load() == ^tag.Kernel && p.tagVM.Load() == tag.VM
}

// IsCurrent reports whether everything read before this call was there and belongs to the epoch.
func (p *Page) IsCurrent(epoch Epoch) bool {
	readBeforeChecking()
	return p.vm.Load() == epoch.VM && p.seedingMarker.Load() != 0 && p.Generation() == epoch.Kernel
}

// Generation returns the kernel's generation that the state was seeded under; all ones for an empty page,
// which is no generation.
func (p *Page) Generation() uint64 { return ^p.generation.Load() }

// VM returns the signal of clones that the state was seeded under; 0 for an empty page, and without a signal.
func (p *Page) VM() uint64 { return p.vm.Load() }

// BeginWatch begins to watch whether the page is emptied.
func (p *Page) BeginWatch() {
	p.presence.Store(1)
	markBeforeGoingOn()
}

// WasPresent reports whether the page stayed intact, in this process, since [Page.BeginWatch].
func (p *Page) WasPresent() bool {
	readBeforeChecking()
	return p.presence.Load() == 1
}

// Wipe erases the working space of a request.
func (p *Page) Wipe() {
	clear(p.Once[:])
	clear(p.Seed[:])
	clear(p.Keys[:])
	clear(p.Block[:])
}

// Pin keeps the goroutine on its P, and all others off it, until [Unpin]. It returns the number of the P,
// from 0 to GOMAXPROCS - 1. sync.Pool is built on it. Between the two calls, nothing may wait, and no
// system call may notify the scheduler.
//
// If a test skips it, the goroutine soon runs on another P.
//
//go:nosplit
func Pin() int {
	number := procPin()
	if failpoint.IsEnabled && failpoint.SkipPin.IsActive() {
		procUnpin()
		runtime.Gosched()
	}
	return number
}

// Unpin ends the effect of [Pin]. Its own beginning must be no preemption point.
//
//go:nosplit
func Unpin() {
	if failpoint.IsEnabled && failpoint.SkipPin.IsActive() {
		return
	}
	procUnpin()
}

// Go's runtime keeps both names and their types for outside packages (go.dev/issue/67401).

//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()
