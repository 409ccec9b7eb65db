//go:build linux && (amd64 || arm64) && !purego

package generator

import (
	"github.com/squall-rng/squall/go/internal/aes256"
	"github.com/squall-rng/squall/go/internal/guard"
)

// Now draws, so that all decisions are made, and returns the status.
func Now() Status {
	Word()
	if !isReady() {
		return withoutState
	}
	policy := guard.ThisPolicy()
	return Status{
		Engine:            aes256.Best().String(),
		Memory:            allShards.Load().kind.String(),
		ForkGuard:         "wiped",
		CloneGuard:        policy.CloneGuard(),
		ReseedGuard:       reseedGuard(policy),
		KernelGeneration:  policy.Generation(),
		IsVM:              policy.IsVM,
		HasVMGenID:        policy.HasVMGenID,
		HasVMClock:        policy.HasVMClock(),
		HasVMGenIDPage:    policy.HasVMGenIDPage(),
		CounterShowsStops: counterShowsStops(policy),
		HasVDSOGetrandom:  policy.HasVDSO(),
		Reseeds:           Reseeds.Load(),
		BytesDiscarded:    Discarded.Load(),
	}
}

// counterShowsStops reports whether requests in a burst need no pad.
func counterShowsStops(policy *guard.Policy) bool {
	rule, _ := ruleFor(policy, policy.Generation())
	return rule == guard.PadAfterPause
}

func reseedGuard(policy *guard.Policy) string {
	switch policy.Watch() {
	case guard.Mapped:
		return "mapped-generation"
	case guard.Probe:
		return "vdso-probe"
	default:
		return "time"
	}
}
