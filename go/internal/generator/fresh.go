//go:build linux && (amd64 || arm64) && !purego

package generator

import (
	"github.com/squall-rng/squall/go/internal/failpoint"
	"github.com/squall-rng/squall/go/internal/guard"
	"github.com/squall-rng/squall/go/internal/kernel"
)

// Fresh fills out from generators that are used once: each 64 KiB are seeded by new output of the kernel's
// RNG, through a system call, with additional input from the CPU. It uses no other state and leaves none:
// nothing that leaked before, and nothing that leaks later, tells what it returned.
func Fresh(out []byte) {
	if !isReady() {
		kernel.FillFresh(out)
		return
	}
	policy := guard.ThisPolicy()
	if policy.Watch() == guard.Undecided {
		// Where the kernel shows its generation is found by a seeding.
		var unused [8]byte
		serveOnce(simulation, unused[:])
	}
	underOneEpoch(policy.Shown, func() bool { return freshOnce(out) })
}

// underOneEpoch serves until that was done under one epoch: a clone in between left both sides with the same
// bytes. Reseeds without pause look like clones: they hold a request up for so long and no longer.
func underOneEpoch(shown func() guard.Epoch, serve func() bool) {
	for attempt := 1; ; attempt++ {
		before := shown()
		served := serve()
		after := shown()
		isSame := after.VM == before.VM && (after.Kernel == before.Kernel || attempt >= attempts)
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
	mix(&page.Seed)
	drbg := newDRBG(page, &page.Once)
	drbg.Reseed(&page.Seed)
	drbg.Generate(out, nil)
	page.Wipe()
	wasThere := page.WasThere() || failpoint.FreshCheck.Off()
	unpin(page, len(out))
	return wasThere
}
