//go:build linux && amd64 && !purego

package aes256

import (
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
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

// On one CPU all readings are of one, and of another one on another; both counters say the same.
func TestReadingsIdentifyTheCPU(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	defer unix.SchedSetaffinity(0, &all)
	seen := map[uint64]int{}
	for cpu := range len(all) * 64 {
		if !all.IsSet(cpu) {
			continue
		}
		one.Zero()
		one.Set(cpu)
		if err := unix.SchedSetaffinity(0, &one); err != nil {
			t.Fatal(err)
		}
		for name, counter := range counters {
			if !cpuHas(t, name) {
				continue
			}
			for range 100 {
				count, blockOf := ReadCounter(counter)
				if owner, isSeen := seen[blockOf]; blockOf == 0 || count == 0 || (isSeen && owner != cpu) {
					t.Fatalf("%s on CPU %d: count %#x of %#x, which was seen on %d", name, cpu, count, blockOf, owner)
				}
				if uint32(blockOf>>32) != ^uint32(blockOf) || blockOf>>32&0xfff != uint64(cpu) {
					t.Fatalf("%s on CPU %d: %#x", name, cpu, blockOf)
				}
				seen[blockOf] = cpu
			}
		}
	}
	if cpuHas(t, "RDTSCP") && len(seen) != all.Count() {
		t.Errorf("%d numbers of %d CPUs", len(seen), all.Count())
	}
}
