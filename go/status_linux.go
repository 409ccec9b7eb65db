//go:build (amd64 || arm64) && !purego

package squall

import (
	"github.com/squall-rng/squall/go/internal/aes256"
	"github.com/squall-rng/squall/go/internal/generator"
	"github.com/squall-rng/squall/go/internal/guard"
)

func init() {
	keptState = func() (state State, isKept bool) {
		policy, memory := generator.Protections()
		if policy == nil {
			return state, false
		}
		return State{
			Engine:           aes256.Best().String(),
			Memory:           memory.String(),
			ForkGuard:        "wiped",
			CloneGuard:       policy.CloneGuard(),
			ReseedGuard:      policy.ReseedGuard(),
			KernelGeneration: policy.Generation(),
			IsVM:             policy.IsVM,
			HasVMGenID:       policy.HasVMGenID(),
			HasVMClock:       policy.HasVMClock(),
			HasVMGenIDPage:   policy.HasVMGenIDPage(),
			HasKVMClock:      policy.HasKVMClock(),
			FollowsTick:      guard.FollowsTick(),
			HasVDSOGetrandom: policy.HasVDSO(),
			Reseeds:          generator.Reseeds.Load(),
			BytesDiscarded:   generator.Discarded.Load(),
		}, true
	}
}
