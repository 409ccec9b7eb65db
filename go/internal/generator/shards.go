//go:build linux && (amd64 || arm64) && !purego

package generator

import (
	"runtime"
	"sync/atomic"

	"github.com/squall-rng/squall/go/internal/guard"
)

// shards are pages by the numbers of Ps. A page once in a table stays in all that follow, and is never
// unmapped.
type shards struct {
	pages []*guard.Page
	// kind is the weakest of them.
	kind guard.MemoryKind
}

var all atomic.Pointer[shards]

func init() { all.Store(&shards{}) }

// pin pins the goroutine to its P and gives that P's page; none, and nothing is pinned, where there
// is no memory for pages.
func pin() *guard.Page {
	for {
		number := guard.Pin()
		if pages := all.Load().pages; number < len(pages) {
			return pages[number]
		}
		guard.Unpin()
		if !grow(number + 1) {
			return nil
		}
	}
}

// grow makes room for at least count Ps. Several may do so; the first to publish wins, and nobody
// waits.
func grow(count int) bool {
	old := all.Load()
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
	if !all.CompareAndSwap(old, larger) {
		guard.UnmapPages(pages)
	}
	return true
}
