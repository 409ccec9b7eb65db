package guard

// Signal is what shows that this machine was cloned, or this process restored. The names are those of `squall status`.
type Signal string

const (
	// NoSignal means that nothing shows copies.
	NoSignal Signal = ""
	// KVMClock is kvm-clock's records. KVM rewrites a CPU's record before that CPU runs in a clone.
	KVMClock Signal = "kvm-clock"
	// VMClock is vmclock's generation counter, which changes before a clone runs.
	VMClock Signal = "vmclock"
	// VMGenIDPage is vmgenid's page, which squall's kernel module shows, and which changes before a clone runs.
	VMGenIDPage Signal = "vmgenid-page"
	// VMGenID is the kernel's reseed when it has handled vmgenid's interrupt, milliseconds after the clone begins to run.
	VMGenID Signal = "vmgenid"
	// KernelLog is the message about vmgenid that the kernel writes to its log at the same time.
	KernelLog Signal = "kernel-log"
	// Process is the start of this process, which the kernel shows in /proc.
	Process Signal = "process"
)
