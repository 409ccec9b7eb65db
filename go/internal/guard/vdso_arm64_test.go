//go:build linux && arm64 && !purego

package guard

import (
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// inThreadRefusing runs work in a thread of its own that may not make some calls of rt_sigprocmask. The thread
// stays, because Go's runtime makes such a call when a thread ends.
func inThreadRefusing(t *testing.T, zeroArgument int, work func()) {
	t.Helper()
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := refuse(unix.SYS_RT_SIGPROCMASK, zeroArgument)
		if err == nil {
			work()
		}
		result <- err
		select {}
	}()
	if err := <-result; err != nil {
		t.Skipf("no filter of system calls: %v", err)
	}
}

// Where signals cannot be blocked, the vDSO is not called, and the seed comes from the system call.
func TestSignalsThatCannotBeBlocked(t *testing.T) {
	page, policy, _ := seeded(t)
	if policy.vdso == nil {
		t.Skip("no getrandom in the vDSO")
	}
	var ok bool
	inThreadRefusing(t, anyCall, func() {
		page.vdso = [vdsoLen]byte{}
		page.Seed = [StateLen]byte{}
		_, ok = policy.SeedFromKernel(page)
	})
	if !ok || page.Seed == [StateLen]byte{} || page.vdso != [vdsoLen]byte{} {
		t.Errorf("seeded: %v, and the vDSO was called: %v", ok, page.vdso != [vdsoLen]byte{})
	}
}

// A thread that would keep all signals blocked ends the program.
func TestSignalsThatStayBlocked(t *testing.T) {
	page, policy, _ := seeded(t)
	if policy.vdso == nil {
		t.Skip("no getrandom in the vDSO")
	}
	var problem any
	const oldMask = 2 // which is asked for by the first call only
	inThreadRefusing(t, oldMask, func() {
		defer func() { problem = recover() }()
		_, _ = policy.SeedFromKernel(page)
	})
	if text, _ := problem.(string); !strings.Contains(text, "rt_sigprocmask") {
		t.Errorf("it ends with %v", problem)
	}
}
