//go:build squall_testing

package main

import (
	"fmt"

	"github.com/squall-rng/squall/go/internal/failpoint"
)

// without shows what machines are like that need no request pads: those without a hypervisor, and those whose
// vmclock counts.
func without() {
	failpoint.DelayedNotification.TurnOff()
	fmt.Println("As on a machine without delayed clone notification:")
}
