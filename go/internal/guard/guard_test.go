//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ownPage is a page of the test's own.
func ownPage(t *testing.T) *Page {
	t.Helper()
	page, kind := MapPages(1)
	if kind == NoMemory {
		t.Skip("no memory that a fork wipes")
	}
	t.Cleanup(func() { UnmapPages(page, 1) })
	return page
}

// ownGeneration makes a word of the test's the kernel's generation, so that no reseed changes it meanwhile.
func ownGeneration(t *testing.T) uint64 {
	t.Helper()
	how, address := currentWatch(), generationAddress.Load()
	t.Cleanup(func() { setWatch(how, address) })
	own := uint64(5)
	setWatch(Mapped, &own)
	return own
}

// seeded is a page, and the policy and generation that it was seeded under.
func seeded(t *testing.T) (*Page, *Policy, uint64) {
	t.Helper()
	page, policy := ownPage(t), Decide()
	page.BeginSeeding(policy.VM())
	generation, ok := policy.SeedFromKernel(page)
	if !ok {
		t.Fatal("the kernel gives no bytes")
	}
	page.SetGeneration(generation)
	return page, policy, generation
}

func TestMemoryThatCannotBeReadIsFoundWithoutAFault(t *testing.T) {
	word := uint64(5)
	if !isReadable(unsafe.Pointer(&word)) {
		t.Error("a variable cannot be read")
	}
	for _, address := range []uintptr{0, 8, 1 << 63} {
		if isReadable(pointer(address)) {
			t.Errorf("%#x can be read", address)
		}
	}
}

// A kernel that refuses gives no seed, which is seen.
func TestARefusedSeedIsNone(t *testing.T) {
	page := ownPage(t)
	if !FreshSeed(page) || page.Seed == [StateLen]byte{} {
		t.Fatal("the kernel gives no seed")
	}
	var given bool
	inThreadRefusing(t, unix.SYS_GETRANDOM, anyCall, func() { given = FreshSeed(page) })
	if given {
		t.Error("a seed was given")
	}
}

// inThreadRefusing runs work in a thread of its own that may not make some calls (see refuse). The thread stays,
// because Go's runtime makes such a call when a thread ends.
func inThreadRefusing(t *testing.T, call uint32, zeroArgument int, work func()) {
	t.Helper()
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := refuse(call, zeroArgument)
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

// anyCall has the kernel refuse every call.
const anyCall = -1

// refuse has the kernel refuse a system call to this thread: every call, or those in which the argument of this
// number is zero in its lower half.
func refuse(call uint32, zeroArgument int) error {
	const load, jumpUnequal, give = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K,
		unix.BPF_RET | unix.BPF_K
	const arguments = 16 // struct seccomp_data (seccomp(2)), little-endian
	filter := []unix.SockFilter{
		{Code: load}, // the number of the call
		{Code: jumpUnequal, K: call, Jf: 3},
		{Code: load, K: arguments + 8*uint32(max(zeroArgument, 0))},
		{Code: jumpUnequal, K: 0, Jf: 1},
		{Code: give, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: give, K: unix.SECCOMP_RET_ALLOW},
	}
	if zeroArgument == anyCall {
		filter[3].Code = unix.BPF_JMP | unix.BPF_JA
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}

// A page is current only with its seeding marker and the generation that it was seeded under.
func TestEveryPartOfAPagesEpochCounts(t *testing.T) {
	page, policy, generation := ownPage(t), Decide(), ownGeneration(t)
	page.BeginSeeding(policy.VM())
	page.SetGeneration(generation)
	epoch, ok := policy.Epoch(page)
	if !ok || !page.IsCurrent(epoch) {
		t.Fatalf("%+v is not current under %+v", page.Generation(), epoch)
	}
	if page.IsCurrent(Epoch{Kernel: generation + 1, VM: epoch.VM}) {
		t.Error("another generation is the same")
	}
	if page.IsCurrent(Epoch{Kernel: generation, VM: epoch.VM + 1}) {
		t.Error("another VM is the same")
	}
	page.seedingMarker.Store(0)
	if page.IsCurrent(epoch) {
		t.Error("a page without its seedingMarker is current")
	}
	page.seedingMarker.Store(1)
	page.generation.Store(0)
	if page.IsCurrent(epoch) {
		t.Error("a page without its generation is current")
	}
	tag := Tag{5, 6}
	page.SetFreshnessTag(tag)
	if !page.IsFresh(tag) || page.IsFresh(Tag{5, 7}) || page.IsFresh(Tag{4, 6}) {
		t.Error("not each part of the tag counts")
	}
	page.kernelComplement.Store(0)
	if page.tagVM.Store(0); page.IsFresh(Tag{}) || page.IsFresh(tag) {
		t.Error("an empty page is fresh")
	}
	page.SetGeneration(generation)
	page.SetFreshnessTag(tag)
	page.BeginSeeding(epoch.VM)
	if page.IsCurrent(epoch) || page.IsFresh(tag) {
		t.Error("a page that is being seeded is current")
	}
}

// A place is one that shows the generation and, behind it, that the kernel's RNG is ready.
func TestAnAddressHoldsGenerationAndFlag(t *testing.T) {
	for words, is := range map[[2]uint64]bool{{5, 1}: true, {5, 0}: false, {5, 2}: false, {6, 1}: false, {1, 5}: false} {
		if holdsGeneration(&words[0], 5) != is {
			t.Errorf("%v: %v", words, !is)
		}
	}
}

// A place that shows another generation than the vDSO is left: for the right one or, where there is none, for
// asking the vDSO.
func TestAWrongAddressIsAbandoned(t *testing.T) {
	page, policy, _ := seeded(t)
	right := generationAddress.Load()
	if currentWatch() != Mapped {
		t.Skip("no generation in the vDSO's data")
	}
	known := candidateAddresses
	defer func() {
		candidateAddresses = known
		setWatch(Mapped, right)
	}()
	wrong := [2]uint64{1 << 50, 1}
	for {
		generation := atomic.LoadUint64(right)
		setWatch(Mapped, &wrong[0])
		_, ok := policy.SeedFromKernel(page)
		if atomic.LoadUint64(right) != generation {
			continue // the kernel reseeded, and the right place shows another generation than the seed has
		}
		if !ok || currentWatch() != Mapped || generationAddress.Load() != right {
			t.Errorf("the place with another generation is used: %v", currentWatch())
		}
		break
	}
	for i := range candidateAddresses {
		candidateAddresses[i] = candidateAddress{0, 0} // the image's first words
	}
	setGenerationAddress(&wrong[0])
	if _, ok := policy.SeedFromKernel(page); !ok || currentWatch() != Probe || generationAddress.Load() == &wrong[0] {
		t.Errorf("without the right place: %v", currentWatch())
	}
	if epoch, ok := policy.Epoch(page); !ok || epoch.Kernel == wrong[0] || epoch.Kernel == NoGeneration {
		t.Errorf("the vDSO says %+v", epoch)
	}
}

// The protections with which a machine notices clones, and needs no pads.
func TestPoliciesThatNoticeClones(t *testing.T) {
	useTestDevices(t)
	driver := t.TempDir()
	write(t, filepath.Join(driver, "VMGENCTR:00"), nil)
	how, generation, followed := currentWatch(), generationAddress.Load(), tickAddress.Load()
	defer func() { setWatch(how, generation); tickAddress.Store(followed) }()
	kvm, undecided := new(kvmClock), new(kvmClock)
	kvm.state.Store(reliedOn)
	clock, page, marker := &cloneSignal{kind: VMClock}, &cloneSignal{kind: VMGenIDPage}, &cloneSignal{}
	for _, c := range []struct {
		policy     Policy
		hasVMGenID bool
		watch      Watch
		guard      string
		needsPads  bool
	}{
		{Policy{}, false, Mapped, "not-a-vm", false},
		{Policy{}, false, Probe, "not-a-vm", false},
		{Policy{}, false, NotWatched, "not-a-vm", false},
		{Policy{IsVM: true}, false, Mapped, "no-signal", true},
		{Policy{IsVM: true}, true, Mapped, "vmgenid", true},
		{Policy{IsVM: true}, true, Probe, "vmgenid", true},
		{Policy{IsVM: true}, true, NotWatched, "no-signal", true},
		{Policy{IsVM: true, signal: clock}, true, Mapped, "vmclock", false},
		{Policy{IsVM: true, signal: page}, true, NotWatched, "vmgenid-page", false},
		{Policy{IsVM: true, signal: marker}, false, Mapped, "no-signal", true},
		{Policy{IsVM: true, signal: marker}, true, Mapped, "vmgenid", true},
		{Policy{IsVM: true, kvmClock: kvm}, false, Mapped, "kvm-clock", false},
		{Policy{IsVM: true, kvmClock: kvm}, true, NotWatched, "kvm-clock", false},
		{Policy{IsVM: true, kvmClock: undecided}, false, Mapped, "no-signal", true},
		{Policy{IsVM: true, kvmClock: undecided}, true, Mapped, "vmgenid", true},
	} {
		setWatch(c.watch, generation)
		vmgenidDrivers = [2]string{}
		if c.hasVMGenID {
			vmgenidDrivers[0] = driver
		}
		policy, tick := &c.policy, uint64(2)
		for _, address := range []*uint64{&tick, &noTick} {
			tickAddress.Store(address)
			needsPads := c.needsPads || address == &noTick
			if policy.MayBeUnnoticedCopy() != needsPads || policy.CloneGuard() != c.guard ||
				policy.NoticesClones() != (c.guard != "no-signal") || policy.TagSuffices() != (c.watch == Mapped) {
				t.Errorf("%+v, watched %d, followed %t: %s, needs pads: %t", c.policy, c.watch, FollowsTick(), policy.CloneGuard(),
					policy.MayBeUnnoticedCopy())
			}
		}
	}
}

// If the vDSO refuses, as it does for a state across two pages, there is no epoch, and the system call
// gives the seed.
func TestAVDSOThatRefuses(t *testing.T) {
	_, policy, _ := seeded(t)
	if policy.vdso == nil {
		t.Skip("no getrandom in the vDSO")
	}
	how, generation := currentWatch(), generationAddress.Load()
	defer func() { setWatch(how, generation) }()
	kernelPage := unix.Getpagesize()
	count := kernelPage/PageSize + 1
	memory, kind := MapPages(count)
	if kind == NoMemory {
		t.Skip("no memory that a fork wipes")
	}
	defer UnmapPages(memory, count)
	// SAFETY: the state crosses the end of the first kernel page, and all of it is in mapped memory.
	page := (*Page)(unsafe.Add(unsafe.Pointer(memory), kernelPage-int(unsafe.Offsetof(Page{}.vdso))-8))
	setWatch(Probe, nil)
	if epoch, ok := policy.Epoch(page); ok {
		t.Errorf("the epoch %+v", epoch)
	}
	if _, ok := policy.SeedFromKernel(page); !ok || page.Seed == [StateLen]byte{} {
		t.Error("no seed by the system call")
	}
}

// In the code for arm64 each check has its barrier in front of the loads of marks, and each mark's store a
// barrier behind it. What the barriers do cannot be tested in emulators on x86-64, which perform loads in order.
func TestBarriersAreCompiled(t *testing.T) {
	if testing.Short() {
		t.Skip("short tests build nothing")
	}
	command := exec.CommandContext(t.Context(), "go", "build", "-gcflags=-S", ".")
	command.Env = append(os.Environ(), "GOOS=linux", "GOARCH=arm64")
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, output)
	}
	// The barriers, and Go's atomic loads and stores, of a function.
	parts := regexp.MustCompile(`\b(readBeforeChecking|markBeforeGoingOn)\(|\s(LDAR|STLR)\s`)
	check := regexp.MustCompile(`^readBeforeChecking\(( LDAR)+$`)
	mark := regexp.MustCompile(`^(STLR )+markBeforeGoingOn\($`)
	for function, order := range map[string]*regexp.Regexp{
		"IsFresh": check, "IsCurrent": check, "WasPresent": check,
		"BeginSeeding": mark, "SetGeneration": mark, "SetFreshnessTag": mark, "ForgetTag": mark, "BeginWatch": mark,
	} {
		_, code, _ := strings.Cut(string(output), "guard.(*Page)."+function+" STEXT")
		code, _, _ = strings.Cut(code, " STEXT")
		found := strings.Join(strings.Fields(strings.Join(parts.FindAllString(code, -1), " ")), " ")
		if !order.MatchString(found) {
			t.Errorf("%s: %q", function, found)
		}
	}
}
