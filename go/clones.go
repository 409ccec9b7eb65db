package squall

import (
	"context"
	"errors"
	"sync"

	"github.com/squall-rng/squall/go/internal/generator"
	"github.com/squall-rng/squall/go/internal/guard"
)

// Whether this machine was cloned, for what a program must not share with its clones: identifiers of connections,
// session keys, cached tokens, leases.

// ErrNoCloneSignal says that nothing on this machine shows that it was cloned, or that this process may not see it.
var ErrNoCloneSignal = errors.New("squall: nothing shows this process that its machine was cloned: give the virtual machine " +
	"a vmgenid or a vmclock, and install squall's kernel module (squall-vmgenid-dkms) or let the process read /dev/kmsg (CAP_SYSLOG)")

// foundClones looks for the signals of this machine once.
var foundClones = sync.OnceValue(func() *guard.Clones {
	generator.Word() // so that squall has made its decisions, and knows where the kernel's generation is
	return guard.FindClones()
})

// CloneSignal returns the signal of clones that [CloneGeneration] follows:
//
//   - "vmclock": vmclock's count of generations, which changes before a clone runs.
//   - "vmgenid-page": vmgenid's page, which squall's kernel module shows. It changes before a clone runs, too.
//   - "kernel-log": the message that the kernel writes to its log when vmgenid has reported a clone (Linux 5.18),
//     milliseconds after the clone begins to run. Reading /dev/kmsg takes CAP_SYSLOG, or kernel.dmesg_restrict=0.
//   - "": nothing on this machine tells a restored snapshot from a pause, or this process may not see it. On other
//     systems than Linux on AMD64 and arm64, and with the tag purego, squall does not look.
//
// The first call looks for the signals, and opens /dev/kmsg if no page shows clones.
func CloneSignal() string { return foundClones().Signal() }

// CloneGeneration returns a number that differs from earlier ones of this process once it may run in another copy of
// its machine. If known is false, nothing shows clones: that means "unknown", not "no".
//
//	before, _ := squall.CloneGeneration()
//	// …
//	if now, _ := squall.CloneGeneration(); now != before {
//		// This may be another copy of the machine.
//	}
//
// Compare it with earlier numbers of the same process only. Two clones may have the same number: it says that the
// machine was copied, not which copy this is. Squall's own bytes need no such check: they differ in each clone.
//
// It takes nanoseconds. With "kernel-log" ([CloneSignal]) it takes a system call during the first second after each
// reseed of the kernel's RNG, which comes once a minute, and on kernels that do not show their generation always.
// A live migration does not change it, unless the hypervisor gives the moved machine a new vmgenid. Processes that are
// restored by themselves (CRIU) are not noticed.
func CloneGeneration() (generation uint64, known bool) { return foundClones().Generation() }

// NotifyClones returns a channel that gets the new generation after each clone from now on. It has room for one, and a
// newer one takes the place of one that nobody has received. It is closed when the context ends. Where nothing shows
// clones, the error is [ErrNoCloneSignal].
//
// It comes when [CloneGeneration] changes, or milliseconds later. A goroutine waits for the signal's device or for
// the kernel's log. Only if it can wait for neither, it looks each 0.1 seconds.
func NotifyClones(ctx context.Context) (<-chan uint64, error) {
	clones := foundClones()
	if clones.Signal() == "" {
		return nil, ErrNoCloneSignal
	}
	return clones.Notify(ctx), nil
}
