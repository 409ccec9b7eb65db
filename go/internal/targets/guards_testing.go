//go:build squall_testing

package main

import (
	"fmt"

	"github.com/squall-rng/squall/go/internal/failpoint"
)

// turnOffGuards imitates other machines by turning guards off: without DelayedNotification, a machine with
// an immediate signal of clones or no VM; without KVM, a VM under an unknown hypervisor.
func turnOffGuards(names []string) error {
	for _, name := range names {
		guard, isKnown := failpoint.Named(name)
		if !isKnown {
			return fmt.Errorf("there is no guard %q", name)
		}
		guard.TurnOff()
		fmt.Println("without", name)
	}
	return nil
}
