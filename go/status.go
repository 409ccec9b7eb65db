package squall

import (
	"fmt"

	"github.com/squall-rng/squall/go/internal/generator"
)

// State is the protections of this process, and the work of its generators so far: for people, never
// for decisions.
type State struct {
	// Engine computes the keystream: "aesni", "vaes512", or "none" where the operating system is asked.
	Engine string
	// Memory is where state lives: "droppable" (MAP_DROPPABLE), "wipe-on-fork" (MADV_WIPEONFORK), or
	// "none".
	Memory string
	// ForkGuard is what keeps a forked child from repeating its parent: "wiped", as its state is, or
	// "kernel" where there is none.
	ForkGuard string
	// CloneGuard is how a VM learns that it is a clone: "not-a-vm"; "vmclock", by a count that changes
	// before a clone runs; "vmgenid-page", by vmgenid's page, which also changes before; "vmgenid", by the kernel, which reseeds when it is told, milliseconds later;
	// "no-signal", not at all; "kernel" where there is no state. With "vmgenid" and "no-signal", requests of up
	// to 256 bytes get a request pad, which makes them different in each clone (see CounterShowsStops).
	CloneGuard string
	// ReseedGuard is how a reseed of the kernel's RNG is noticed: "mapped-generation", by two loads;
	// "vdso-probe", by asking the vDSO; "time", not, and state lasts 60 seconds; "kernel" where there is
	// no state.
	ReseedGuard string
	// KernelGeneration is the kernel RNG's, or 0 where it cannot be read.
	KernelGeneration uint64
	// IsVM tells whether this is a VM: a hypervisor announces itself, or there is a vmgenid or a vmclock,
	// which only VMs have.
	IsVM bool
	// HasVMGenID tells whether the kernel's vmgenid driver is bound to a device.
	HasVMGenID bool
	// HasVMClock tells whether /dev/vmclock0 is used: it is there and readable, and sysfs knows it as the device.
	// Where it has no count of restores, vmgenid's page takes its place.
	HasVMClock bool
	// HasVMGenIDPage tells whether squall's kernel module shows vmgenid's page, and it is used.
	HasVMGenIDPage bool
	// CounterShowsStops tells whether the cycle counter shows that this VM was stopped, as the hypervisor
	// is known to keep it so: requests in quick succession need no pad. It is looked for only where
	// there are pads.
	CounterShowsStops bool
	// HasVDSOGetrandom tells whether the kernel has getrandom in the vDSO.
	HasVDSOGetrandom bool
	// Reseeds counts seedings of generators, in this process and those it was forked from.
	Reseeds uint64
	// BytesDiscarded counts bytes that were generated and thrown away unused, likewise: because the
	// epoch had changed, or because a new buffer spares the next requests their pads.
	BytesDiscarded uint64
}

// Status draws a number, so that everything is decided, and tells what there is.
func Status() State { return State(generator.Now()) }

// String is the state in a line.
func (s State) String() string {
	return fmt.Sprintf("engine %s, memory %s, fork guard %s, clone guard %s, counter shows stops %t, "+
		"reseed guard %s, generation %d, %d reseeds, %d bytes discarded", s.Engine, s.Memory, s.ForkGuard, s.CloneGuard,
		s.CounterShowsStops, s.ReseedGuard, s.KernelGeneration, s.Reseeds, s.BytesDiscarded)
}
