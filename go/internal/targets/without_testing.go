//go:build squall_testing

package main

import (
	"fmt"

	"github.com/squall-rng/squall/go/internal/seam"
)

// without shows what machines are like that need no masks: those without a hypervisor, and those whose
// vmclock counts.
func without() {
	seam.LateSignal.TurnOff()
	fmt.Println("As on a machine that is not told late of its clones:")
}
