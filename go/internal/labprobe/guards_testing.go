//go:build linux && amd64 && !purego && squall_testing

package main

import (
	"fmt"

	"github.com/squall-rng/squall/go/internal/failpoint"
)

// setGuards sets the gap and activates failpoints, as the plan has it: emulated guests take more cycles for a request,
// and are not KVM.
func setGuards(plan plan) error {
	for _, name := range plan.Failpoints {
		named, isKnown := failpoint.Named(name)
		if !isKnown {
			return fmt.Errorf("no failpoint is called %q", name)
		}
		named.Activate()
	}
	failpoint.SetGap(plan.GapCycles)
	return nil
}
