// Package failpoint lets tests disable single guards, so that each guard has a control: the same test
// without the guard must fail; and lets them change what squall sees of the machine.
//
// Without the build tag squall_testing no failpoint is active: they are constants, and leave no trace in a
// program.
package failpoint

// Failpoint is a switch that a test can activate. It is named for what it does.
type Failpoint uint

// The failpoints.
const (
	// FreezeGeneration makes the kernel's generation appear never to change.
	FreezeGeneration Failpoint = iota
	// HideGenerationAddress hides the generation's mapped address; squall then asks the vDSO.
	HideGenerationAddress
	// HideVDSO hides getrandom in the vDSO.
	HideVDSO
	// SkipForkGuard takes memory that a fork does not empty.
	SkipForkGuard
	// RefuseDroppable refuses droppable memory.
	RefuseDroppable
	// CheckBeforeRead checks the page's freshness tag or epoch before the read instead of after.
	CheckBeforeRead
	// SkipUnnotifiedCloneGuard makes no request different where a copy may run that nothing shows.
	SkipUnnotifiedCloneGuard
	// HideKVMClock hides kvm-clock's records.
	HideKVMClock
	// FreezeKVMClock makes kvm-clock's records appear never to change.
	FreezeKVMClock
	// HideRDPID hides the CPU's instruction for its number.
	HideRDPID
	// HideTick hides the kernel's tick.
	HideTick
	// FreezeTick makes the kernel's tick appear never to change.
	FreezeTick
	// HideCloneSignal hides the devices with an immediate signal of clones.
	HideCloneSignal
	// HideVMGenID hides the kernel's vmgenid driver.
	HideVMGenID
	// SkipPin does not keep a goroutine on its P while it uses the P's page.
	SkipPin
	// SkipFreshCheck does not check that the page was not emptied while a fresh request was served.
	SkipFreshCheck
	// FreezeSeedAge makes a seed appear never to age.
	FreezeSeedAge
	// SkipNoise adds no cycle count and no random words to seeds and requests.
	SkipNoise
	// SkipPadNoise adds no cycle count and no random word to the numbers of pads.
	SkipPadNoise
	// ZeroPadNumbers gives all pads the number 0.
	ZeroPadNumbers
	// PretendVM pretends that the machine is a VM.
	PretendVM
	// HideHypervisorAnnouncement hides the hypervisor's announcement of itself.
	HideHypervisorAnnouncement
	// ZeroKernelBytes takes zeros as the kernel's bytes of a seed.
	ZeroKernelBytes
)
