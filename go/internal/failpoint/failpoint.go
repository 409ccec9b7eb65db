// Package failpoint lets tests turn single guards off, so that each guard has a control: the same test
// without the guard must fail.
//
// Without the build tag squall_testing the switches are constants, and leave no trace in a program.
package failpoint

// Failpoint is a guard that a test can turn off.
type Failpoint uint

// The guards.
const (
	// GenerationCheck compares the kernel's generation on each request.
	GenerationCheck Failpoint = iota
	// GenerationAddress reads the generation at its mapped address; without it squall asks the vDSO.
	GenerationAddress
	// VDSO uses getrandom in the vDSO.
	VDSO
	// ForkGuard empties pages in a forked child.
	ForkGuard
	// Droppable uses droppable memory.
	Droppable
	// CheckAfterRead checks the page's freshness tag or epoch after the read; without it, before.
	CheckAfterRead
	// DelayedNotification pads requests, all or those after a pause, if a clone may run unnoticed; without it
	// bytes leave unpadded.
	DelayedNotification
	// StopDetection takes a long gap as a possible stop of the machine; without it no gap is long.
	StopDetection
	// BurstAnchors begins a burst only with a refill that was made in it; without it a short gap suffices.
	BurstAnchors
	// KVM recognises the hypervisor KVM.
	KVM
	// OtherHypervisors tells other hypervisors from KVM; without it they count as KVM.
	OtherHypervisors
	// ReseedAfterSignal assumes that the kernel has reseeded in a clone, unless the signal has changed since;
	// without it the reseed is always pending.
	ReseedAfterSignal
	// CloneSignal looks for the devices with an immediate signal of clones.
	CloneSignal
	// VMGenID takes the kernel's vmgenid driver into account.
	VMGenID
	// Pin keeps a goroutine on its P while it uses the P's page.
	Pin
	// FreshCheck checks that the page was not emptied while a fresh request was served.
	FreshCheck
	// SeedAge ends a seed after 60 seconds if the kernel's generation cannot be read.
	SeedAge
	// Noise adds the CPU's counter and random words to seeds and requests, as additional input.
	Noise
	// PadNoise adds the cycle counter and a random word to the numbers of pads.
	PadNoise
	// PadNumbers gives each pad a number of its own.
	PadNumbers
	// BareMetal believes a CPU that announces no hypervisor.
	BareMetal
	// HypervisorAnnouncement believes a CPU that announces a hypervisor.
	HypervisorAnnouncement
	// KernelBytes seeds from the kernel's bytes; without it from zeros.
	KernelBytes
)
