package squall

import (
	"fmt"

	"github.com/squall-rng/squall/go/internal/generator"
)

// State describes the protections of this process, and the work of its generators so far. It is meant for
// people to read; programs should not decide by it. Its keys in JSON are among those of
// `squall status --json`.
type State struct {
	// Engine computes the keystream: "aesni", "vaes256", "vaes512", "arm-aes", or "none" if the operating system serves
	// all requests.
	Engine string `json:"engine"`
	// Memory is where state lives: "droppable" (MAP_DROPPABLE), "wipe-on-fork" (MADV_WIPEONFORK), or
	// "none".
	Memory string `json:"memory"`
	// ForkGuard is what keeps a forked child from repeating its parent: "wiped", because a fork wipes
	// the state, or "kernel" if there is no state.
	ForkGuard string `json:"fork_guard"`
	// CloneGuard is how a VM learns that it is a clone: "not-a-vm"; "kvm-clock", by its CPU's record, which KVM
	// rewrites before a clone runs; "vmclock", by a count that changes before a clone runs; "vmgenid-page", by vmgenid's page, which also changes before; "vmgenid", by the
	// kernel, which reseeds when it is notified, milliseconds later; "no-signal", not at all; "kernel" if
	// there is no state. With "vmgenid" and "no-signal", and where the tick is not followed, requests of up
	// to 256 bytes get a request pad, which makes them different in each copy.
	CloneGuard string `json:"clone_guard"`
	// ReseedGuard is how a reseed of the kernel's RNG is noticed: "mapped-generation", by a load;
	// "vdso-probe", by asking the vDSO; "time", not at all, so state lasts 60 seconds; "kernel" if
	// there is no state.
	ReseedGuard string `json:"reseed_guard"`
	// KernelGeneration is the kernel RNG's, or 0 where it cannot be read.
	KernelGeneration uint64 `json:"kernel_generation"`
	// IsVM reports whether this is a VM: a hypervisor announces itself, or there is a vmgenid or a vmclock,
	// which only VMs have.
	IsVM bool `json:"is_vm"`
	// HasVMGenID reports whether the kernel's vmgenid driver is bound to a device.
	HasVMGenID bool `json:"has_vmgenid"`
	// HasVMClock reports whether /dev/vmclock0 is used: it exists, is readable, and sysfs knows it as the
	// device. If it has no count of restores, vmgenid's page is preferred.
	HasVMClock bool `json:"has_vmclock"`
	// HasVMGenIDPage reports whether squall's kernel module shows vmgenid's page, and it is used.
	HasVMGenIDPage bool `json:"has_vmgenid_page"`
	// HasKVMClock reports whether kvm-clock's records are mapped into this process, are KVM's, and are compared on each
	// request. Then squall looks for none of the devices.
	HasKVMClock bool `json:"has_kvm_clock"`
	// FollowsTick reports whether the kernel's tick is compared on each request: it shows that the process may have been
	// restored.
	FollowsTick bool `json:"follows_tick"`
	// HasVDSOGetrandom reports whether the kernel has getrandom in the vDSO.
	HasVDSOGetrandom bool `json:"has_vdso_getrandom"`
	// Reseeds counts seedings of generators, in this process and those it was forked from.
	Reseeds uint64 `json:"reseeds"`
	// BytesDiscarded counts bytes that were generated and thrown away unused, likewise: because the
	// epoch or the tick had changed.
	BytesDiscarded uint64 `json:"bytes_discarded"`
}

// keptState returns the state of a process whose generators keep state; false if this process keeps none. Builds
// that cannot keep any leave it nil.
var keptState func() (state State, isKept bool)

// Status draws a number, waits some milliseconds until squall has made all its decisions, and returns the state.
func Status() State {
	generator.Word()
	if keptState != nil {
		if state, isKept := keptState(); isKept {
			return state
		}
	}
	return State{Engine: "none", Memory: "none", ForkGuard: "kernel", CloneGuard: "kernel", ReseedGuard: "kernel"}
}

// String returns the state in one line.
func (s State) String() string {
	return fmt.Sprintf("engine %s, memory %s, fork guard %s, clone guard %s, follows tick %t, "+
		"reseed guard %s, generation %d, %d reseeds, %d bytes discarded", s.Engine, s.Memory, s.ForkGuard, s.CloneGuard,
		s.FollowsTick, s.ReseedGuard, s.KernelGeneration, s.Reseeds, s.BytesDiscarded)
}
