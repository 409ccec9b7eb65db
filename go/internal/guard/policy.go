//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/squall-rng/squall/go/internal/failpoint"
)

// Epoch is what must be unchanged for state to be usable.
type Epoch struct {
	// Kernel is the kernel RNG's generation, or [NoGeneration]; never 0.
	Kernel uint64
	// VM is the value of the signal of clones, 0 where there is none.
	VM uint64
}

// NoGeneration stands for the kernel's generation where it cannot be seen.
const NoGeneration = math.MaxUint64 - 1

// Policy is which protections this machine gives.
type Policy struct {
	vdso   *VDSO
	signal *cloneSignal
	// IsVM tells whether this is a VM: a hypervisor announces itself, or gives it a device that only VMs have.
	IsVM bool
	// HasVMGenID tells whether a clone of the VM moves the kernel's generation.
	HasVMGenID bool
}

var decided atomic.Pointer[Policy]

// ThisPolicy is the process's policy; nil before [Decide] was called.
func ThisPolicy() *Policy { return decided.Load() }

// Decide decides on the process's policy, at the first call. Several goroutines may each decide; the first to
// publish wins, and nobody waits. It makes system calls that the scheduler is told of, so nobody who is
// pinned may call it.
func Decide() *Policy {
	if policy := decided.Load(); policy != nil {
		return policy
	}
	policy := machine()
	if policy.vdso == nil {
		decideOn(Nothing, nil)
	}
	// Whoever gets the policy finds its signal followed.
	policy.signal.follow()
	if !decided.CompareAndSwap(nil, policy) {
		return decided.Load()
	}
	return policy
}

// machine is what this machine gives. A hypervisor may hide from the CPU's answers, but not its devices.
func machine() *Policy {
	policy := &Policy{
		vdso:       findVDSO(),
		signal:     openCloneSignal(),
		HasVMGenID: !failpoint.VMGenID.Off() && hasVMGenID(),
	}
	announced := announcesHypervisor() && !failpoint.Announced.Off()
	policy.IsVM = announced || policy.HasVMGenID || policy.signal != nil || mayHaveCloneSignal() || failpoint.BareMetal.Off()
	return policy
}

// SeesClones tells whether a clone of this VM would be noticed, or there can be none.
func (p *Policy) SeesClones() bool {
	return !p.IsVM || p.IsToldInTime() || (p.HasVMGenID && p.SeesGeneration())
}

// IsToldInTime tells whether a signal changes before a clone of this VM runs.
func (p *Policy) IsToldInTime() bool { return p.signal.isReliedOn() }

// HasVMClock tells whether a vmclock is used, with or without a count of restores.
func (p *Policy) HasVMClock() bool { return p.signal.is(vmClock) || p.signal.is(disruptionMarker) }

// HasVMGenIDPage tells whether vmgenid's page is shown and used.
func (p *Policy) HasVMGenIDPage() bool { return p.signal.is(vmgenidPage) }

// HasVDSO tells whether the kernel has getrandom in the vDSO.
func (p *Policy) HasVDSO() bool { return p.vdso != nil }

// SeesGeneration tells whether a reseed of the kernel would be noticed.
func (p *Policy) SeesGeneration() bool { return watched() == Mapped || watched() == Probe }

// Watch is how a reseed of the kernel is noticed.
func (p *Policy) Watch() Watch { return watched() }

// Generation is the kernel's generation where it is mapped, else 0.
func (p *Policy) Generation() uint64 { return mappedGeneration() }

// TagSuffices tells whether the freshness tag, and the readings of a burst where gaps are followed, tell
// everything: two loads and one comparison.
func (p *Policy) TagSuffices() bool { return watched() == Mapped }

// HasDelayedNotification tells whether a clone may run for a while before the kernel knows of it: vmgenid is
// handled by the kernel like any other interrupt.
func (p *Policy) HasDelayedNotification() bool {
	return p.IsVM && p.HasVMGenID && !p.IsToldInTime()
}

// FollowsGaps tells whether a clone may run unnoticed under the kernel's generation: it is noticed late,
// or never, or this is one already and the kernel may not have been told. Then bytes of the buffer leave
// as they are only if the machine was not stopped since the buffer was made.
func (p *Policy) FollowsGaps(generation uint64) bool {
	isUnnoticed := p.HasDelayedNotification() || !p.SeesClones() || isUnsettled(generation)
	return isUnnoticed && !failpoint.DelayedNotification.Off()
}

// Epoch is the epoch now; false if the vDSO does not answer. Who calls has the page alone.
func (p *Policy) Epoch(page *Page) (Epoch, bool) {
	now := Epoch{Kernel: NoGeneration, VM: p.signal.value()}
	switch watched() {
	case Mapped:
		now.Kernel = mappedGeneration()
	case Probe:
		now.Kernel = p.vdso.fill(page, unsafe.Pointer(&page.Seed), 1)
		page.Seed[0] = 0
	}
	return now, now.Kernel != 0
}

// Shown is the epoch as far as it is shown without asking the vDSO.
func (p *Policy) Shown() Epoch { return Epoch{Kernel: p.Generation(), VM: p.VM()} }

// VM is the value of the signal of clones, 0 where there is none.
func (p *Policy) VM() uint64 { return p.signal.value() }

// Settle is to be called when a page was seeded under an epoch.
func (p *Policy) Settle(epoch Epoch) {
	if p.signal != nil {
		noteSignal(epoch.VM, epoch.Kernel)
	}
}
