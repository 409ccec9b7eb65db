//go:build amd64 && !purego

package aes256

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

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
