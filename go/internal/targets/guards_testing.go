//go:build squall_testing

package main

import (
	"fmt"

	"github.com/squall-rng/squall/go/internal/failpoint"
)

// without turns guards off, to show what other machines are like: without DelayedNotification as one that
// is told of clones in time, or that is no VM; without KVM as a VM whose hypervisor is not known.
func without(names []string) error {
	for _, name := range names {
		guard, isKnown := failpoint.Named(name)
		if !isKnown {
			return fmt.Errorf("no guard is called %q", name)
		}
		guard.TurnOff()
		fmt.Println("without", name)
	}
	return nil
}
