//go:build linux && amd64 && !purego

package local

import (
	"github.com/squall-rng/squall/go/internal/guard"
	"github.com/squall-rng/squall/go/internal/kernel"
	"github.com/squall-rng/squall/go/internal/seam"
)

// Fresh fills out with prediction resistance: each 64 KiB of it from a seed of its own, by a system
// call. It uses no state and leaves none: nothing that leaked before, and nothing that leaks later,
// tells what it returned.
func Fresh(out []byte) {
	if !isReady() {
		kernel.FillFresh(out)
		return
	}
	policy := guard.ThisPolicy()
	for attempt := 1; ; attempt++ {
		vm, generation := policy.VM(), policy.Generation()
		served := freshOnce(out)
		// A clone in between left both sides with the same bytes. Reseeds without pause look like
		// clones: they hold a request up for so long and no longer.
		isSame := vm == policy.VM() && (generation == policy.Generation() || attempt >= attempts)
		if served && isSame {
			return
		}
	}
}

// freshOnce fills out, part by part; false if a page was emptied meanwhile.
func freshOnce(out []byte) bool {
	for part, rest := split(out); len(part) > 0; part, rest = split(rest) {
		if !freshPart(part) {
			return false
		}
	}
	return true
}

// freshPart fills one request to a generator of its own; false if the page was emptied meanwhile.
func freshPart(out []byte) bool {
	page := pin()
	if page == nil {
		kernel.FillFresh(out)
		return true
	}
	page.Attend()
	if !guard.FreshSeed(page) {
		guard.Unpin()
		kernel.FillFresh(out)
		return true
	}
	stir((*[noiseLen]byte)(page.Seed[:]))
	generator := generator(page, &page.Once)
	generator.Reseed(&page.Seed)
	noise(&page.Seed)
	generator.Generate(out, &page.Seed)
	page.Wipe()
	wasThere := page.WasThere() || seam.FreshCheck.Off()
	unpin(page, len(out))
	return wasThere
}
