package squall

import (
	"fmt"

	"github.com/squall-rng/squall/go/internal/generator"
)

// State describes the protections of this process, and the work of its generators so far. It is meant for
// people to read; programs should not decide by it.
type State struct {
	// Engine computes the keystream: "aesni", "vaes512", or "none" if the operating system serves all requests.
	Engine string
	// Memory is where state lives: "droppable" (MAP_DROPPABLE), "wipe-on-fork" (MADV_WIPEONFORK), or
	// "none".
	Memory string
	// ForkGuard is what keeps a forked child from repeating its parent: "wiped", because a fork wipes
	// the state, or "kernel" if there is no state.
	ForkGuard string
	// CloneGuard is how a VM learns that it is a clone: "not-a-vm"; "vmclock", by a count that changes
	// before a clone runs; "vmgenid-page", by vmgenid's page, which also changes before; "vmgenid", by the
	// kernel, which reseeds when it is notified, milliseconds later; "no-signal", not at all; "kernel" if
	// there is no state. With "vmgenid" and "no-signal", requests of up
	// to 256 bytes get a request pad, which makes them different in each clone (see CounterShowsStops).
	CloneGuard string
	// ReseedGuard is how a reseed of the kernel's RNG is noticed: "mapped-generation", by two loads;
	// "vdso-probe", by asking the vDSO; "time", not at all, so state lasts 60 seconds; "kernel" if
	// there is no state.
	ReseedGuard string
	// KernelGeneration is the kernel RNG's, or 0 where it cannot be read.
	KernelGeneration uint64
	// IsVM reports whether this is a VM: a hypervisor announces itself, or there is a vmgenid or a vmclock,
	// which only VMs have.
	IsVM bool
	// HasVMGenID reports whether the kernel's vmgenid driver is bound to a device.
	HasVMGenID bool
	// HasVMClock reports whether /dev/vmclock0 is used: it exists, is readable, and sysfs knows it as the
	// device. If it has no count of restores, vmgenid's page is preferred.
	HasVMClock bool
	// HasVMGenIDPage reports whether squall's kernel module shows vmgenid's page, and it is used.
	HasVMGenIDPage bool
	// CounterShowsStops reports whether the cycle counter shows that this VM was stopped, as under a known
	// hypervisor: then requests in quick succession need no pad. It is checked only on machines with pads.
	CounterShowsStops bool
	// HasVDSOGetrandom reports whether the kernel has getrandom in the vDSO.
	HasVDSOGetrandom bool
	// Reseeds counts seedings of generators, in this process and those it was forked from.
	Reseeds uint64
	// BytesDiscarded counts bytes that were generated and thrown away unused, likewise: because the
	// epoch had changed, or because a new buffer spares the next requests their pads.
	BytesDiscarded uint64
}

// Status draws a number, so that squall has made all its decisions, and returns the state.
func Status() State { return State(generator.Now()) }

// String returns the state in one line.
func (s State) String() string {
	return fmt.Sprintf("engine %s, memory %s, fork guard %s, clone guard %s, counter shows stops %t, "+
		"reseed guard %s, generation %d, %d reseeds, %d bytes discarded", s.Engine, s.Memory, s.ForkGuard, s.CloneGuard,
		s.CounterShowsStops, s.ReseedGuard, s.KernelGeneration, s.Reseeds, s.BytesDiscarded)
}
