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
	// CloneGuard is what keeps a VM clone from repeating its sibling: "not-a-vm"; "vmclock", a count that
	// changes before a clone runs; "vmgenid", where the kernel reseeds when it is told of the clone, and
	// until then each request for bytes is told apart by itself; "hedged", where every request is, by the
	// cycle counter and the CPU's random instruction; "kernel" where there is no state.
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
	// HasVMClock tells whether /dev/vmclock0 is there and readable, and sysfs knows it as the device.
	HasVMClock bool
	// HasVDSOGetrandom tells whether the kernel has getrandom in the vDSO.
	HasVDSOGetrandom bool
	// FollowsTick tells whether buffers end with the kernel's tick.
	FollowsTick bool
	// Reseeds counts seedings of generators, in this process and those it was forked from.
	Reseeds uint64
	// BytesDiscarded counts bytes that were generated and thrown away unused because the epoch or the
	// tick had changed, likewise.
	BytesDiscarded uint64
}

// Status draws a number, so that everything is decided, and tells what there is.
func Status() State { return State(generator.Now()) }

// String is the state in a line.
func (s State) String() string {
	return fmt.Sprintf("engine %s, memory %s, fork guard %s, clone guard %s, reseed guard %s, generation %d, "+
		"%d reseeds, %d bytes discarded", s.Engine, s.Memory, s.ForkGuard, s.CloneGuard, s.ReseedGuard,
		s.KernelGeneration, s.Reseeds, s.BytesDiscarded)
}
