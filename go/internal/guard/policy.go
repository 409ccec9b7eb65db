//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"math"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/squall-rng/squall/go/internal/failpoint"
)

// Epoch holds the values that must not change while state is used.
type Epoch struct {
	// Kernel is the kernel RNG's generation, or [NoGeneration]; never 0.
	Kernel uint64
	// VM is the value of the signal of clones, 0 if there is none.
	VM uint64
}

// NoGeneration stands for the kernel's generation if it cannot be read.
const NoGeneration = math.MaxUint64 - 1

// Policy describes the protections of this machine.
type Policy struct {
	vdso *VDSO
	// kvmClock and signal are the signals of clones: nil if there are none.
	kvmClock *kvmClock
	signal   *cloneSignal
	// IsVM reports whether this is a VM: a hypervisor announces itself, or there is a device that only VMs have.
	IsVM bool
}

var decided atomic.Pointer[Policy]

// ThisPolicy returns the process's policy; nil before [Decide] was called.
func ThisPolicy() *Policy { return decided.Load() }

// Decide decides on the process's policy, at the first call. Several goroutines may decide at once; the
// first to publish wins, and nobody waits. A pinned goroutine must not call it, because it makes system
// calls that notify the scheduler.
func Decide() *Policy {
	if policy := decided.Load(); policy != nil {
		return policy
	}
	policy := detectPolicy()
	if policy.vdso == nil {
		setWatch(NotWatched, nil)
	}
	// The signal is watched before anybody gets the policy.
	policy.signal.watch()
	if !decided.CompareAndSwap(nil, policy) {
		return decided.Load()
	}
	return policy
}

// hypervisorAnnounced is [hasHypervisor], unless a test replaces it.
var hypervisorAnnounced = hasHypervisor

// detectPolicy detects this machine's protections. A hypervisor may hide its CPUID leaves, but not its
// devices.
func detectPolicy() *Policy {
	policy := &Policy{vdso: findVDSO(), kvmClock: findKVMClock()}
	if policy.kvmClock != nil {
		policy.IsVM = true
		return policy
	}
	policy.signal = openCloneSignal()
	announced := hypervisorAnnounced() && !failpoint.HideHypervisorAnnouncement.IsActive()
	policy.IsVM = announced || policy.HasVMGenID() || policy.signal != nil || mayHaveCloneSignal() || failpoint.PretendVM.IsActive()
	return policy
}

// Settle relies on kvm-clock's records, or gives them up, as soon as it can be told whether they are KVM's.
func (p *Policy) Settle() { p.kvmClock.settle() }

// WaitUntilSettled does the same, and waits until then: for some milliseconds after the first request.
func (p *Policy) WaitUntilSettled() {
	for p.Settle(); p.kvmClock.isUndecided(); p.Settle() {
		time.Sleep(time.Millisecond)
	}
}

// NoticesClones reports whether a clone of this VM would be noticed, or the machine cannot be cloned.
func (p *Policy) NoticesClones() bool {
	return !p.IsVM || p.HasImmediateSignal() || (p.HasVMGenID() && p.CanSeeGeneration())
}

// immediateSignal returns the signal that changes before a clone of this VM runs; [NoSignal] if there is none.
func (p *Policy) immediateSignal() Signal {
	switch {
	case p.HasKVMClock():
		return KVMClock
	case p.signal != nil:
		return p.signal.kind
	default:
		return NoSignal
	}
}

// HasImmediateSignal reports whether a signal changes before a clone of this VM runs.
func (p *Policy) HasImmediateSignal() bool { return p.immediateSignal() != NoSignal }

// CloneGuard returns what keeps a clone of this VM from repeating its sibling.
func (p *Policy) CloneGuard() string {
	switch {
	case !p.NoticesClones():
		return "no-signal"
	case p.HasImmediateSignal():
		return string(p.immediateSignal())
	case p.IsVM:
		return string(VMGenID)
	default:
		return "not-a-vm"
	}
}

// ReseedGuard returns how a reseed of the kernel is noticed.
func (p *Policy) ReseedGuard() string {
	switch currentWatch() {
	case Mapped:
		return "mapped-generation"
	case Probe:
		return "vdso-probe"
	default:
		return "time"
	}
}

// HasVMGenID reports whether a clone of the VM moves the kernel's generation.
func (p *Policy) HasVMGenID() bool { return !failpoint.HideVMGenID.IsActive() && hasVMGenID() }

// HasKVMClock reports whether kvm-clock's records are compared.
func (p *Policy) HasKVMClock() bool { return p.kvmClock.isReliedOn() }

// HasVMClock reports whether a vmclock is used, with or without a count of restores.
func (p *Policy) HasVMClock() bool { return p.signal.isOf(&vmClock) }

// HasVMGenIDPage reports whether vmgenid's page is shown and used.
func (p *Policy) HasVMGenIDPage() bool { return p.signal.isOf(&vmgenidPage) }

// HasVDSO reports whether the kernel has getrandom in the vDSO.
func (p *Policy) HasVDSO() bool { return p.vdso != nil }

// CanSeeGeneration reports whether a reseed of the kernel would be noticed.
func (p *Policy) CanSeeGeneration() bool { return currentWatch() == Mapped || currentWatch() == Probe }

// Generation returns the kernel's generation if it is mapped, else 0.
func (p *Policy) Generation() uint64 { return mappedGeneration() }

// TagSuffices reports whether comparing the freshness tag is all that a request has to compare.
func (p *Policy) TagSuffices() bool { return currentWatch() == Mapped }

// MayBeUnnoticedCopy reports whether this machine or process may be a copy that nothing shows before its next request:
// requests must then be made different in each copy.
func (p *Policy) MayBeUnnoticedCopy() bool {
	isShown := (!p.IsVM || p.HasImmediateSignal()) && FollowsTick()
	return !isShown && !failpoint.SkipUnnotifiedCloneGuard.IsActive()
}

// NeedsInput reports whether the generator needs additional input for each request. In a VM no signal is believed alone.
func (p *Policy) NeedsInput() bool {
	return (p.IsVM || p.MayBeUnnoticedCopy()) && !failpoint.SkipUnnotifiedCloneGuard.IsActive()
}

// Epoch returns the current epoch; false if the vDSO does not answer. The caller must own the page.
func (p *Policy) Epoch(page *Page) (Epoch, bool) {
	now := Epoch{Kernel: NoGeneration, VM: p.VM()}
	switch currentWatch() {
	case Mapped:
		now.Kernel = mappedGeneration()
	case Probe:
		now.Kernel = p.vdso.fill(page, unsafe.Pointer(&page.Seed), 1)
		page.Seed[0] = 0
	}
	return now, now.Kernel != 0
}

// Shown returns the part of the epoch that is known without asking the vDSO.
func (p *Policy) Shown() Epoch { return Epoch{Kernel: p.Generation(), VM: p.VM()} }

// VM returns the value of the signal of clones, the same on every CPU; 0 if there is none.
func (p *Policy) VM() uint64 {
	if p.HasKVMClock() {
		return p.kvmClock.records.all() + 1
	}
	return p.signal.value()
}

// cloneGeneration returns a number that changes once with each clone of the machine.
func (p *Policy) cloneGeneration() uint64 {
	if p.HasKVMClock() {
		return p.kvmClock.records.newestTime()
	}
	return p.signal.value()
}

// NoteChange must be called after a page was seeded because the signal of clones had changed to this value.
func (p *Policy) NoteChange(vm uint64) { p.kvmClock.noteChange(vm, uint64(time.Now().Unix())) }
