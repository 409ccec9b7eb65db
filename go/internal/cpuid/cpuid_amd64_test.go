//go:build linux && amd64 && !purego

package cpuid

import (
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/cpu"
)

// The kernel knows this CPU for the same features. It does not list VAES if it does not save 256-bit registers.
func TestTheKernelKnowsTheSame(t *testing.T) {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Skip("no list of what this CPU has")
	}
	features := strings.Fields(string(info))
	for name, has := range map[string]bool{"vaes": HasVAES(), "rdpid": HasRDPID()} {
		if has != slices.Contains(features, name) {
			t.Errorf("%s: %t", name, has)
		}
	}
}

// Where the system does not save 256-bit registers, there is no VAES.
func TestVAESNeedsAVX2(t *testing.T) {
	defer func(has bool) { cpu.X86.HasAVX2 = has }(cpu.X86.HasAVX2)
	cpu.X86.HasAVX2 = false
	if HasVAES() {
		t.Error("found")
	}
}

// CPUID is executed once for both.
func TestTheAnswerIsKept(t *testing.T) {
	defer kept.Store(kept.Load())
	kept.Store(isKept | 1<<22)
	if !HasRDPID() || leaf7() != 1<<22 {
		t.Error("asked again")
	}
}
