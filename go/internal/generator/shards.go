//go:build linux && (amd64 || arm64) && !purego

package generator

import (
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/squall-rng/squall/go/internal/guard"
)

// shards are the pages of the Ps with the first numbers, which follow each other in memory. They are never unmapped.
type shards struct {
	first *guard.Page
	count int
	kind  guard.MemoryKind
}

// of returns the page of the P with this number, which is less than count.
func (s *shards) of(number int) *guard.Page {
	// SAFETY: there are that many pages.
	return (*guard.Page)(unsafe.Add(unsafe.Pointer(s.first), number*guard.PageSize))
}

var allShards atomic.Pointer[shards]

func init() { allShards.Store(&shards{}) }

// pin pins the goroutine to its P and returns that P's page. Without memory for pages it returns nil and
// pins nothing.
func pin() *guard.Page {
	for {
		number := guard.Pin()
		if all := allShards.Load(); number < all.count {
			return all.of(number)
		}
		guard.Unpin()
		if !grow(number + 1) {
			return nil
		}
	}
}

// refusalLen is the number of calls of grow for which memory that was refused is not asked for again. A request on
// a P without a page makes one in each attempt, and one in Fresh: so memory is asked for after 1024 requests.
const refusalLen = 1024 * (attempts + 1)

// refusals is the number of those calls that are left.
var refusals atomic.Int32

// mapPages is guard.MapPages, unless a test replaces it.
var mapPages = guard.MapPages

// grow makes room for at least count Ps, with new pages for all of them: a request may still be using an old page, and
// its P's next request uses the new one. Several goroutines may do so at once; the first to publish wins, and nobody
// waits.
func grow(count int) bool {
	old := allShards.Load()
	if count <= old.count {
		return true
	}
	if refusals.Load() > 0 {
		refusals.Add(-1)
		return false
	}
	larger := &shards{count: max(count, runtime.NumCPU(), 2*old.count)}
	larger.first, larger.kind = mapPages(larger.count)
	if larger.kind == guard.NoMemory {
		refusals.Store(refusalLen)
		return false
	}
	if !allShards.CompareAndSwap(old, larger) {
		guard.UnmapPages(larger.first, larger.count)
	}
	return true
}
