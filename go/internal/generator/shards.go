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

// grow makes room for at least count Ps. Several goroutines may do so at once; the first to publish wins,
// and nobody waits.
func grow(count int) bool {
	old := allShards.Load()
	missing := max(count, runtime.NumCPU()) - len(old.pages)
	if missing <= 0 {
		return true
	}
	pages, kind := guard.MapPages(missing)
	if kind == guard.NoMemory {
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
