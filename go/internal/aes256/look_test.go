//go:build amd64 && !purego

package aes256

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// The counters of this CPU, and a name for each.
var counters = map[string]Counter{"RDTSCP": RDTSCP, "RDPID": RDPID}

// has tells whether the kernel knows this CPU for an instruction.
func has(t *testing.T, instruction string) bool {
	t.Helper()
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Skip("SKIP: no list of what this CPU has")
	}
	return slices.Contains(strings.Fields(string(info)), strings.ToLower(instruction))
}

// Whatever is taken arrives, nothing of it stays, and the counter is read.
func TestTakeAndLook(t *testing.T) {
	requireEngine(t)
	for name, counter := range counters {
		if !has(t, name) {
			t.Logf("SKIP: no %s", name)
			continue
		}
		taken(t, 0, func(dst []byte, src *byte) {
			before, _ := Look(counter)
			count, cpu := TakeAndLook(dst, src, counter)
			after, _ := Look(counter)
			if cpu == 0 || (before < after && (count < before || count > after)) {
				t.Fatalf("%s: %d bytes: %#x of CPU %#x, between %#x and %#x", name, len(dst), count, cpu, before, after)
			}
		})
	}
}

// canLook tells whether this CPU has the counter of number 1.
func canLook(t *testing.T) bool { return has(t, "RDTSCP") }
