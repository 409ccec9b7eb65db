// Package failpoint has the switches with which tests turn single guards off, so that each guard has a
// control: the same test without it must fail.
//
// Without the build tag squall_testing they are constants, and leave no trace in a program.
package failpoint

// Failpoint is a guard that a test can turn off.
type Failpoint uint

// The guards.
const (
	// GenerationCheck compares the kernel's generation on each request.
	GenerationCheck Failpoint = iota
	// GenerationPlace reads the generation where it is mapped; without it the vDSO is asked.
	GenerationPlace
	// VDSO uses getrandom in the vDSO at all.
	VDSO
	// ForkGuard empties pages in a forked child.
	ForkGuard
	// Droppable uses droppable memory.
	Droppable
	// Recheck looks at the page's mark behind the read; without it, before.
	Recheck
	// DelayedNotification follows gaps where a clone may run unnoticed, or pads every request; without it
	// bytes leave as they are.
	DelayedNotification
	// Stops knows from a long gap that the machine may have been stopped; without it no gap is long.
	Stops
	// Anchors has a burst begin with a buffer that was made in it; without it a short gap suffices.
	Anchors
	// KVM knows the hypervisor KVM.
	KVM
	// NoKVM knows that others are not KVM; without it they count as KVM.
	NoKVM
	// Settled takes the kernel for told of a clone, unless a signal of clones says otherwise; without it, it is
	// never told.
	Settled
	// CloneSignal looks for the devices that tell of clones in time.
	CloneSignal
	// VMGenID believes in the kernel's vmgenid driver.
	VMGenID
	// Pin keeps a goroutine on its P while it uses the P's page.
	Pin
	// FreshCheck looks whether the page was there while a fresh request was served.
	FreshCheck
	// SeedAge ends a seed after 60 seconds where the kernel's generation is not seen.
	SeedAge
	// Noise is what the CPU adds to seeds and requests as additional input.
	Noise
	// BareMetal believes a CPU that tells of no hypervisor.
	BareMetal
	// Announced believes a CPU that tells of a hypervisor.
	Announced
	// KernelBytes are the kernel's in seeds; without them zeros are in their place.
	KernelBytes
)
