//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"math"
	"sync/atomic"
	"unsafe"
)

// Lengths of a page's parts, in bytes.
const (
	StateLen   = 48  // a generator's key of 32 bytes and counter of 16
	KeysLen    = 240 // the round keys of AES-256
	vdsoLen    = 144 // the vDSO's opaque state in Linux 6.11 to 6.18
	headerLen  = 960
	headerUsed = 17*8 + 4*StateLen + vdsoLen + 2*KeysLen
	BufferLen  = PageSize - headerLen
)

// A page is a Page, whole.
var _ [PageSize]byte = [unsafe.Sizeof(Page{})]byte{}

// Page holds the secrets of one P beside the mark that tells whether they are still there.
//
// The mark is the epoch that the state was seeded under. The kernel may zero a droppable page at
// any moment, and a fork empties it in the child: both erase the mark with the secrets. So whatever
// was read counts only if [Page.IsCurrent] or [Page.IsFresh] holds afterwards. Half of the mark,
// the seeding marker, is written before a seed is even drawn, and the other half before the state: if both
// are there at the end, nothing in between was lost.
//
// Whoever is pinned to the page's P has it alone. Any bytes are valid in it.
type Page struct {
	// The complement of the kernel's generation, which is never 0: an empty page has none.
	generation atomic.Uint64
	// The complement of the buffer's freshness tag.
	tagComplement atomic.Uint64
	vm            atomic.Uint64
	seedingMarker atomic.Uint64

	// Left is how many bytes of the buffer are unread; they are taken from its end. Where one
	// comparison does not tell that the page is current they are in Held, and Left is 0.
	Left uint64
	// Burst is here so that all that a request from the buffer needs, but its bytes, is in 64 bytes.
	Burst

	Streak
	Held uint64
	// Refill is the length of the next refill, in bytes; 0 for the first.
	Refill uint64
	// Holds is how many refills are no longer than the last one was, because a longer one took too long.
	Holds uint32
	// SeededAt is when the state was seeded, for kernels that do not show their generation: by the
	// clock that only goes forward and by the one on the wall, in nanoseconds.
	SeededAt [2]int64
	// Drawn is how many bytes were generated since the goroutine last let others run.
	Drawn uint64
	// alive is whether the page was emptied since it was last asked for.
	alive atomic.Uint64

	// State is the generator's.
	State [StateLen]byte
	// PadKeys are the round keys of request pads.
	PadKeys [KeysLen]byte
	// Once is the state of a generator for one request.
	Once [StateLen]byte
	// Seed is what goes into a generator: zero between requests.
	Seed [StateLen]byte
	// Keys are the round keys of the request at work: zero between requests.
	Keys [KeysLen]byte
	// Block is where the next state is made: zero between requests.
	Block [StateLen]byte

	vdso [vdsoLen]byte
	_    [headerLen - headerUsed]byte

	// Buffer is keystream for small requests.
	Buffer [BufferLen]byte
}

// BeginSeeding makes nothing in the page current, and leaves a seeding marker that tells at the end of the
// seeding whether the page was there, in this process, all the time. To be called before the seed
// is drawn: a fork in between would otherwise leave both sides with the same seed.
func (p *Page) BeginSeeding(vm uint64) {
	p.generation.Store(0)
	p.tagComplement.Store(0)
	p.vm.Store(vm)
	p.seedingMarker.Store(1)
}

// Mark marks what is written from here on as seeded under the kernel's generation.
func (p *Page) Mark(generation uint64) { p.generation.Store(^generation) }

// SetFreshnessTag marks the buffer as filled under this tag, before it is.
func (p *Page) SetFreshnessTag(tag uint64) { p.tagComplement.Store(^tag) }

// IsFresh tells whether everything read from the buffer before this call was there, and was
// generated under this freshness tag.
func (p *Page) IsFresh(tag uint64) bool { return p.tagComplement.Load()^tag == math.MaxUint64 }

// IsCurrent tells whether everything read before this call was there and belongs to the epoch.
func (p *Page) IsCurrent(epoch Epoch) bool {
	return p.vm.Load() == epoch.VM && p.seedingMarker.Load() != 0 && p.Generation() == epoch.Kernel
}

// Generation is the kernel's generation that the state was seeded under; all ones in an empty page,
// which is nobody's.
func (p *Page) Generation() uint64 { return ^p.generation.Load() }

// Attend begins to watch whether the page is emptied.
func (p *Page) Attend() { p.alive.Store(1) }

// WasThere tells whether the page was there, in this process, since [Page.Attend].
func (p *Page) WasThere() bool { return p.alive.Load() == 1 }

// Wipe erases what a request needed for itself.
func (p *Page) Wipe() {
	clear(p.Once[:])
	clear(p.Seed[:])
	clear(p.Keys[:])
	clear(p.Block[:])
}
