//go:build linux && (amd64 || arm64) && !purego

package generator

import (
	"github.com/squall-rng/squall/go/internal/failpoint"
	"github.com/squall-rng/squall/go/internal/guard"
	"github.com/squall-rng/squall/go/internal/kernel"
)

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
