//go:build linux && amd64 && !purego

package guard

import (
	"testing"

	"github.com/squall-rng/squall/go/internal/aes256"
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

// RDPID is used if there is one, else RDTSCP, else nothing.
func TestCounterOfACPU(t *testing.T) {
	const rdpid, rdtscp = 1 << 22, 1 << 27
	const most = 1<<32 - 1
	for name, c := range map[string]struct {
		leaves      leaves
		hasFeatures bool
		want        aes256.CounterMethod
	}{
		"both":               {leaves{7: {0, 0, rdpid, 0}, 0x8000_0001: {0, 0, 0, rdtscp}}, true, aes256.RDPID},
		"RDPID alone":        {leaves{7: {0, 0, rdpid, 0}}, true, aes256.RDPID},
		"RDTSCP alone":       {leaves{0x8000_0001: {0, 0, 0, rdtscp}}, true, aes256.RDTSCP},
		"no leaf of RDPID's": {leaves{7: {0, 0, rdpid, 0}}, false, aes256.NoCounter},
		"neither":            {leaves{}, true, aes256.NoCounter},
		"all other bits": {
			leaves{7: {most, most, most - rdpid, most}, 0x8000_0001: {most, most, most, most - rdtscp}}, true, aes256.NoCounter,
		},
	} {
		var asked int
		if got := bestCounterOf(c.leaves.cpuidFunc(&asked), c.hasFeatures); got != c.want {
			t.Errorf("%s: %d", name, got)
		}
	}
}

// The counter is detected once, at the second call.
func TestStopCounterIsRemembered(t *testing.T) {
	before := stopCounter.Load()
	defer stopCounter.Store(before)
	stopCounter.Store(unasked)
	if StopCounter() != aes256.NoCounter || stopCounter.Load() != asked {
		t.Error("it is detected at the first call")
	}
	counter := StopCounter()
	if state := stopCounter.Load(); state != known+uint32(counter) {
		t.Errorf("%d is remembered of %d", state, counter)
	}
	for _, other := range []aes256.CounterMethod{aes256.NoCounter, aes256.RDTSCP, aes256.RDPID} {
		stopCounter.Store(known + uint32(other))
		if StopCounter() != other {
			t.Error("it is detected again")
		}
	}
}
