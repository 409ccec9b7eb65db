//go:build linux && amd64 && !purego

package guard

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// leaves are what CPUID gives for some leaves; zeros for others.
type leaves map[uint32][4]uint32

func (l leaves) cpuidFunc(asked *int) cpuidFunc {
	return func(leaf, _ uint32) (eax, ebx, ecx, edx uint32) {
		*asked++
		given := l[leaf]
		return given[0], given[1], given[2], given[3]
	}
}

// signature is the leaf that tells of a hypervisor with this name and last leaf.
func signature(last uint32, name string) [4]uint32 {
	word := func(at int) (word uint32) {
		for i := range 4 {
			word |= uint32(name[at+i]) << (8 * i)
		}
		return word
	}
	return [4]uint32{last, word(0), word(4), word(8)}
}

// KVM is recognised by its name, also after another hypervisor's leaves, and nothing else is. The search makes
// no more CPUIDs than needed, because each is a trap.
func TestKVMIsKnownByItsName(t *testing.T) {
	kvm := func(last uint32) [4]uint32 { return signature(last, "KVMKVMKVM\x00\x00\x00") }
	features := [4]uint32{1 << 5}
	hyperV := signature(0x4000_000a, "Microsoft Hv")
	everywhere := leaves{}
	for base := uint32(0x4000_0000); base < 0x4002_0000; base += 0x100 {
		everywhere[base] = signature(base+1, "somebody els")
	}
	late := leaves{0x4001_0000: kvm(0x4001_0001)}
	for base := range everywhere {
		if base < 0x4001_0000 {
			late[base] = everywhere[base]
		}
	}
	for name, c := range map[string]struct {
		leaves leaves
		isKVM  bool
		asked  int
	}{
		"KVM":                     {leaves{0x4000_0000: kvm(0x4000_0001), 0x4000_0001: features}, true, 2},
		"an old KVM":              {leaves{0x4000_0000: kvm(0), 0x4000_0001: features}, true, 2},
		"KVM behind Hyper-V":      {leaves{0x4000_0000: hyperV, 0x4000_0100: kvm(0x4000_0101), 0x4000_0101: features}, true, 3},
		"VirtualBox as KVM":       {leaves{0x4000_0000: kvm(0x4000_0001), 0x4000_0001: {1<<0 | 1<<3 | 1<<24}}, false, 2},
		"Hyper-V":                 {leaves{0x4000_0000: hyperV}, false, 2},
		"QEMU without KVM":        {leaves{0x4000_0000: signature(0x4000_0001, "TCGTCGTCGTCG")}, false, 2},
		"none":                    {leaves{}, false, 1},
		"what comes behind none":  {leaves{0x4000_0100: kvm(0x4000_0101)}, false, 1},
		"almost KVM":              {leaves{0x4000_0000: signature(0x4000_0001, "KVMKVMKVMKVM")}, false, 2},
		"others everywhere":       {everywhere, false, 256},
		"too far behind others":   {late, false, 256},
		"not at a multiple of it": {leaves{0x4000_0000: hyperV, 0x4000_0080: kvm(0)}, false, 2},
	} {
		asked := 0
		if is := isKVM(c.leaves.cpuidFunc(&asked)); is != c.isKVM || asked != c.asked {
			t.Errorf("%s: %v, asked %d times", name, is, asked)
		}
	}
}

// The tag in assembly is that in Go: with records and without, under any generation and tick.
func TestTheTagInAssemblyIsThatInGo(t *testing.T) {
	if !hasRDPID() {
		t.Skip("this CPU lacks RDPID")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	defer unix.SchedSetaffinity(0, &all)
	onOneCPU(t, &all)
	defer func(own *records, tick *uint64) { ownRecords.Store(own); tickAddress.Store(tick) }(ownRecords.Load(), tickAddress.Load())
	tick, generation := uint64(0x0123_4567_89ab_cdef), uint64(0xfedc_ba98_7654_3210)
	tickAddress.Store(&tick)
	seen := map[Tag]bool{}
	for _, own := range []*records{nil, plausibleRecords()} {
		ownRecords.Store(own)
		for range 3 {
			for range 3 {
				tag := tagOfOwnRecord(&generation)
				if tag != tagAt(&generation) {
					t.Errorf("records: %t: %+v in assembly, %+v in Go", own != nil, tag, tagAt(&generation))
				}
				seen[tag] = true
				tick += 2
			}
			generation++
		}
	}
	if len(seen) != 2*3*3 {
		t.Errorf("only %d tags", len(seen))
	}
}

// onOneCPU makes the thread stay on the first of these CPUs.
func onOneCPU(t *testing.T, all *unix.CPUSet) {
	t.Helper()
	var one unix.CPUSet
	for cpu := range len(records{}) {
		if all.IsSet(cpu) {
			one.Set(cpu)
			break
		}
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		t.Fatal(err)
	}
}

// On each CPU its own record is compared: a change of its version or time is seen, as is a move to another CPU, and
// another record's change is not.
func TestTheOwnRecordIsCompared(t *testing.T) {
	if !hasRDPID() {
		t.Skip("this CPU lacks RDPID")
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		t.Fatal(err)
	}
	defer unix.SchedSetaffinity(0, &all)
	seen := map[uint64]int{}
	for cpu := range len(records{}) {
		if !all.IsSet(cpu) {
			continue
		}
		one.Zero()
		one.Set(cpu)
		if err := unix.SchedSetaffinity(0, &one); err != nil {
			t.Fatal(err)
		}
		records := plausibleRecords()
		before := ownRecord(records)
		if other, isSeen := seen[before]; isSeen {
			t.Errorf("CPU %d has the word of CPU %d", cpu, other)
		}
		seen[before] = cpu
		for i := range records {
			for at := range 2 {
				records[i][at] += 2
				if (ownRecord(records) != before) != (i == cpu) {
					t.Errorf("on CPU %d, record %d, word %d", cpu, i, at)
				}
				records[i][at] -= 2
			}
		}
	}
}
