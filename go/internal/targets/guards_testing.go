//go:build squall_testing

package main

import (
	"fmt"

	"github.com/squall-rng/squall/go/internal/failpoint"
)

// activate imitates other machines by failpoints: SkipUnnotifiedCloneGuard a machine with an immediate signal
// of clones or no VM, HideKVM a VM under an unknown hypervisor.
func activate(names []string) error {
	for _, name := range names {
		named, isKnown := failpoint.Named(name)
		if !isKnown {
			return fmt.Errorf("there is no failpoint %q", name)
		}
		named.Activate()
		fmt.Println("failpoint", name)
	}
	return nil
}
