//go:build amd64 && !purego

package aes256

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The counters of this CPU, and a name for each.
var counters = map[string]CounterMethod{"RDTSCP": RDTSCP, "RDPID": RDPID}

// cpuHas reports whether the kernel knows this CPU for an instruction.
func cpuHas(t *testing.T, instruction string) bool {
	t.Helper()
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Skip("no list of what this CPU has")
	}
	return slices.Contains(strings.Fields(string(info)), strings.ToLower(instruction))
}

// All bytes are moved, none stays behind, and the counter is read.
func TestTakeAndReadCounter(t *testing.T) {
	requireEngine(t)
	for name, counter := range counters {
		t.Run(name, func(t *testing.T) {
			if !cpuHas(t, name) {
				t.Skip("this CPU lacks it")
			}
			checkTake(t, 0, func(dst []byte, src *byte) {
				before, first := ReadCounter(counter)
				count, cpu := TakeAndReadCounter(dst, src, counter)
				after, last := ReadCounter(counter)
				// Counters of two CPUs may differ.
				if cpu == 0 || (first == cpu && cpu == last && (count < before || count > after)) {
					t.Fatalf("%d bytes: %#x of CPU %#x, between %#x and %#x", len(dst), count, cpu, before, after)
				}
			})
		})
	}
}

// hasCounter reports whether this CPU has counter method 1.
func hasCounter(t *testing.T) bool { return cpuHas(t, "RDTSCP") }
