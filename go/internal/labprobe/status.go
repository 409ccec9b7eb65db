//go:build linux && amd64 && !purego

package main

import (
	"runtime"

	squall "github.com/squall-rng/squall/go"
)

// The protections of this process, with the keys of the lab's report.

// status has the keys of the library in Rust, where they mean the same.
func status() map[string]any {
	status := squall.Status()
	return map[string]any{
		"go":                  runtime.Version(),
		"gomaxprocs":          runtime.GOMAXPROCS(0),
		"engine":              status.Engine,
		"memory":              status.Memory,
		"fork_guard":          status.ForkGuard,
		"clone_guard":         status.CloneGuard,
		"reseed_guard":        status.ReseedGuard,
		"counter_shows_stops": status.CounterShowsStops,
		"kernel_generation":   status.KernelGeneration,
		"is_vm":               status.IsVM,
		"has_vmgenid":         status.HasVMGenID,
		"has_vmclock":         status.HasVMClock,
		"has_vmgenid_page":    status.HasVMGenIDPage,
		"has_vdso_getrandom":  status.HasVDSOGetrandom,
	}
}
