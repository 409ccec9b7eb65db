//go:build linux && arm64 && !purego

package guard

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// Where signals cannot be blocked, the vDSO is not called, and the seed comes from the system call.
func TestSignalsThatCannotBeBlocked(t *testing.T) {
	page, policy, _ := seeded(t)
	if policy.vdso == nil {
		t.Skip("no getrandom in the vDSO")
	}
	var ok bool
	inThreadRefusing(t, unix.SYS_RT_SIGPROCMASK, anyCall, func() {
		page.vdso = [vdsoLen]byte{}
		page.Seed = [StateLen]byte{}
		_, ok = policy.SeedFromKernel(page)
	})
	if !ok || page.Seed == [StateLen]byte{} || page.vdso != [vdsoLen]byte{} {
		t.Errorf("seeded: %v, and the vDSO was called: %v", ok, page.vdso != [vdsoLen]byte{})
	}
}

// blocked is set in the process whose thread would keep all signals blocked.
const blocked = "SQUALL_SIGNALS_STAY_BLOCKED"

// A thread that would keep all signals blocked ends the program.
func TestSignalsThatStayBlocked(t *testing.T) {
	page, policy, _ := seeded(t)
	if policy.vdso == nil {
		t.Skip("no getrandom in the vDSO")
	}
	if os.Getenv(blocked) != "" {
		const oldMask = 2 // only the first call asks for the old mask
		inThreadRefusing(t, unix.SYS_RT_SIGPROCMASK, oldMask, func() { _, _ = policy.SeedFromKernel(page) })
		return
	}
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	command.Env = append(os.Environ(), blocked+"=1")
	output, err := command.CombinedOutput()
	if strings.Contains(string(output), "--- SKIP") {
		t.Skip("no filter of system calls")
	}
	if err == nil || !strings.Contains(string(output), "panic: squall: the kernel does not let signals in again") {
		t.Errorf("%v:\n%s", err, output)
	}
}
