package squall

import (
	"context"
	"errors"
	"sync"

	"github.com/squall-rng/squall/go/internal/generator"
	"github.com/squall-rng/squall/go/internal/guard"
)

// ErrNoCloneSignal means that nothing on this machine shows clones, or nothing that this process may read.
var ErrNoCloneSignal = errors.New("squall: this process cannot notice clones of its machine: give the virtual machine " +
	"a vmgenid or a vmclock, and install squall's kernel module (squall-vmgenid-dkms) or let the process read /dev/kmsg (CAP_SYSLOG)")

// cloneDetector looks for the machine's signals once.
var cloneDetector = sync.OnceValue(func() *guard.CloneDetector {
	generator.Word() // finds the kernel's generation
	return guard.NewCloneDetector()
})

// CloneSignal returns the signal of clones that [CloneGeneration] follows:
//
//   - "kvm-clock": the newest time in kvm-clock's records, of which KVM rewrites a CPU's before that CPU runs in a clone. It
//     changes too if the host sets the clock.
//   - "vmclock": vmclock's generation counter, which changes before a clone runs.
//   - "vmgenid-page": vmgenid's page, which squall's kernel module shows. It changes before a clone runs, too.
//   - "kernel-log": the message that the kernel writes to its log when vmgenid has reported a clone (Linux 5.18),
//     milliseconds after the clone begins to run. Reading /dev/kmsg takes CAP_SYSLOG, or kernel.dmesg_restrict=0.
//   - "process": this is no virtual machine, so only the process may be restored.
//   - "": nothing on this machine distinguishes a restored snapshot from a pause, or nothing that this process may
//     read. On systems other than Linux on AMD64 and arm64, and with the build tag purego, squall does not look.
//
// The first call looks for the signals, and opens /dev/kmsg if no page shows clones.
func CloneSignal() string { return string(cloneDetector().Signal()) }

// CloneGeneration returns a number that changes when this process may be running in a clone of its machine, or was itself
// restored from a checkpoint by CRIU. If known is false, the number is 0, and squall cannot notice clones now: there may
// have been some.
//
//	before, _ := squall.CloneGeneration()
//	// …
//	if now, known := squall.CloneGeneration(); !known || now != before {
//		// This may be another copy of the machine, or of the process.
//	}
//
// Compare it with earlier numbers of the same process only. Two copies may have the same number: it says that the
// machine or the process was copied, not which copy this is. Squall's own bytes need no such check: they differ in each
// copy. A child by a raw fork counts as a copy; gVisor shows no process that it was restored.
//
// A call takes nanoseconds; the first in each tick of the kernel, 1 to 10 milliseconds apart, reads two files in /proc.
// With the signal "kernel-log" ([CloneSignal]) it makes a system call during the second after each reseed of the kernel's
// RNG, which comes once a minute, and always before Linux 6.11, which does not show its reseeds. A live migration does not change the number, unless the hypervisor gives the moved machine a new vmgenid.
func CloneGeneration() (generation uint64, known bool) { return cloneDetector().Generation() }

// NotifyClones returns a channel that receives the new generation after each clone or restore from now on. The channel
// holds one generation; a newer one replaces it. It is closed when the context ends. If squall cannot notice clones, the error is
// [ErrNoCloneSignal].
//
// The generation is sent when [CloneGeneration] changes, or milliseconds later. A goroutine waits for the signal's
// device or the kernel's log, and compares the generation every 0.1 seconds.
func NotifyClones(ctx context.Context) (<-chan uint64, error) {
	detector := cloneDetector()
	if detector.Signal() == guard.NoSignal {
		return nil, ErrNoCloneSignal
	}
	return detector.Notify(ctx), nil
}
