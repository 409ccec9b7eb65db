//go:build linux && (amd64 || arm64) && !purego

package generator

import (
	"runtime"
	"sync/atomic"

	"github.com/squall-rng/squall/go/internal/guard"
)

// shards is a table of pages, indexed by the number of the P. A page in a table stays in all later tables,
// and is never unmapped.
type shards struct {
	pages []*guard.Page
	// kind is the weakest kind among the pages.
	kind guard.MemoryKind
}

var allShards atomic.Pointer[shards]

func init() { allShards.Store(&shards{}) }

// pin pins the goroutine to its P and returns that P's page. Without memory for pages it returns nil and
// pins nothing.
func pin() *guard.Page {
	for {
		number := guard.Pin()
		if pages := allShards.Load().pages; number < len(pages) {
			return pages[number]
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

// grow makes room for at least count Ps. Several goroutines may do so at once; the first to publish wins,
// and nobody waits.
func grow(count int) bool {
	old := allShards.Load()
	missing := max(count, runtime.NumCPU()) - len(old.pages)
	if missing <= 0 {
		return true
	}
	if refusals.Load() > 0 {
		refusals.Add(-1)
		return false
	}
	pages, kind := mapPages(missing)
	if kind == guard.NoMemory {
		refusals.Store(refusalLen)
		return false
	}
	if len(old.pages) > 0 {
		kind = min(kind, old.kind)
	}
	larger := &shards{pages: append(old.pages[:len(old.pages):len(old.pages)], pages...), kind: kind}
	if !allShards.CompareAndSwap(old, larger) {
		guard.UnmapPages(pages)
	}
	return true
}
