//go:build linux && amd64 && !purego

package guard

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ownPage is a page of the test's own.
func ownPage(t *testing.T) *Page {
	t.Helper()
	pages, kind := MapPages(1)
	if kind == NoMemory {
		t.Skip("SKIP: no memory that a fork wipes")
	}
	t.Cleanup(func() { UnmapPages(pages) })
	return pages[0]
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
	page.Mark(generation)
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

func TestAWrongGenerationIsShownNowhere(t *testing.T) {
	_, policy, generation := seeded(t)
	if policy.vdso == nil {
		t.Skip("SKIP: no getrandom in the vDSO")
	}
	for _, place := range places {
		if shows((*uint64)(policy.vdso.at(place.offset-place.below)), generation+1_000_000) {
			t.Errorf("%+v shows what is not so", place)
		}
	}
}

// A kernel that refuses gives no seed, which is seen.
func TestARefusedSeedIsNone(t *testing.T) {
	page := ownPage(t)
	if !FreshSeed(page) || page.Seed == [StateLen]byte{} {
		t.Fatal("the kernel gives no seed")
	}
	ended := make(chan string)
	go func() {
		// The thread, and with it the filter, ends with the goroutine.
		runtime.LockOSThread()
		if err := refuse(unix.SYS_GETRANDOM); err != nil {
			ended <- fmt.Sprintf("SKIP: no filter of system calls: %v", err)
			return
		}
		if FreshSeed(page) {
			ended <- "a seed was given"
			return
		}
		ended <- ""
	}()
	switch said := <-ended; {
	case strings.HasPrefix(said, "SKIP"):
		t.Skip(said)
	case said != "":
		t.Error(said)
	}
}

// refuse has the kernel refuse a system call to this thread.
func refuse(call uint32) error {
	const load, jumpUnequal, give = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K,
		unix.BPF_RET | unix.BPF_K
	filter := []unix.SockFilter{
		{Code: load}, // the number of the call
		{Code: jumpUnequal, K: call, Jf: 1},
		{Code: give, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: give, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}

// Each half of the mark is needed, and the generation that it was seeded under.
func TestAMarkIsAllOrNothing(t *testing.T) {
	page, policy, generation := seeded(t)
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
	page.tagComplement.Store(0)
	if page.IsFresh(Tag()) {
		t.Error("an empty page is leased")
	}
	page.Mark(generation)
	page.SetFreshnessTag(Tag())
	page.BeginSeeding(epoch.VM)
	if page.IsCurrent(epoch) || page.IsFresh(Tag()) {
		t.Error("a page that is being seeded is current")
	}
}

// A place is one that shows the generation and, behind it, that the kernel's RNG is ready.
func TestPlacesShowGenerationAndFlag(t *testing.T) {
	for words, is := range map[[2]uint64]bool{{5, 1}: true, {5, 0}: false, {5, 2}: false, {6, 1}: false, {1, 5}: false} {
		if shows(&words[0], 5) != is {
			t.Errorf("%v: %v", words, !is)
		}
	}
}

// A place that shows another generation than the vDSO is left: for the right one or, where there is none, for
// asking the vDSO.
func TestAWrongPlaceIsLeft(t *testing.T) {
	page, policy, _ := seeded(t)
	right := generationPlace.Load()
	if watched() != Mapped {
		t.Skip("SKIP: no generation in the vDSO's data")
	}
	known := places
	defer func() {
		places = known
		decideOn(Mapped, right)
	}()
	wrong := [2]uint64{1 << 50, 1}
	readGenerationAt(&wrong[0])
	if _, ok := policy.SeedFromKernel(page); !ok || watched() != Mapped || generationPlace.Load() != right {
		t.Errorf("the place with another generation is used: %v", watched())
	}
	for i := range places {
		places[i] = place{0, 0} // the image's first words
	}
	readGenerationAt(&wrong[0])
	if _, ok := policy.SeedFromKernel(page); !ok || watched() != Probe || generationPlace.Load() == &wrong[0] {
		t.Errorf("without the right place: %v", watched())
	}
	if epoch, ok := policy.Epoch(page); !ok || epoch.Kernel == wrong[0] || epoch.Kernel == NoGeneration {
		t.Errorf("the vDSO says %+v", epoch)
	}
}

// No change of the generation undoes one of vmclock's count.
func TestMomentsDiffer(t *testing.T) {
	before := countPlace.Load()
	defer countPlace.Store(before)
	var count uint64
	countPlace.Store(&count)
	seen := map[uint64]bool{}
	for generation := range uint64(64) {
		for count = range 64 {
			seen[TagUnder(generation)] = true
		}
	}
	if len(seen) != 64*64 {
		t.Errorf("%d moments of %d", len(seen), 64*64)
	}
}

// vmclockPage is a page as include/uapi/linux/vmclock-abi.h describes it.
func vmclockPage(size uint32, flags, marker, generation uint64) []byte {
	page := make([]byte, PageSize)
	binary.LittleEndian.PutUint32(page[0:], 0x4b4c_4356)
	binary.LittleEndian.PutUint32(page[4:], size)
	binary.LittleEndian.PutUint16(page[8:], 1)
	binary.LittleEndian.PutUint64(page[16:], marker)
	binary.LittleEndian.PutUint64(page[24:], flags)
	binary.LittleEndian.PutUint64(page[104:], generation)
	return page
}

// anyRegularFile has vmclock looked for in this file, whatever it is.
func anyRegularFile(t *testing.T, path string) {
	t.Helper()
	inPlaceOfVMClock(t, path)
	t.Cleanup(func() { isVMClock = isVMClockDevice })
	isVMClock = func(*unix.Stat_t) bool { return true }
}

// inPlaceOfVMClock has vmclock looked for there.
func inPlaceOfVMClock(t *testing.T, path string) {
	t.Helper()
	device := vmClockPath
	t.Cleanup(func() { vmClockPath = device })
	vmClockPath = path
}

// Whatever else is where the device should be is refused, though it shows what the device would. The control
// is that the same page is believed where files are.
func TestOnlyTheDeviceIsAVMClock(t *testing.T) {
	directory := t.TempDir()
	at := func(name string) string { return filepath.Join(directory, name) }
	page := vmclockPage(112, 1<<8, 5, 7)
	for name, err := range map[string]error{
		"regular": os.WriteFile(at("regular"), page, 0o600),
		"empty":   os.WriteFile(at("empty"), nil, 0o600),
		"link":    os.Symlink("regular", at("link")),
		"fifo":    unix.Mkfifo(at("fifo"), 0o600),
		"zero":    os.Symlink("/dev/zero", at("zero")),
		// Of the major that vmclock's is.
		"misc": os.Symlink("/dev/fuse", at("misc")),
	} {
		if err != nil {
			t.Fatal(err)
		}
		inPlaceOfVMClock(t, at(name))
		if openVMClock() != nil {
			t.Errorf("%s: it is believed", name)
		}
	}
	for _, name := range []string{"regular", "link"} {
		anyRegularFile(t, at(name))
		if openVMClock().generation() != 8 {
			t.Errorf("%s: not believed where files are: this shows nothing", name)
		}
	}
	anyRegularFile(t, at("empty"))
	if !faults(func() { openVMClock() }) {
		t.Error("a file that was made shorter can be read where files are believed: this shows nothing")
	}
}

// faults tells whether call touches memory that is not there.
func faults(call func()) (faulted bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { faulted = recover() != nil }()
	call()
	return false
}

// A device is known by the name in sysfs, whatever its file is called.
func TestDevicesAreKnownByTheirNames(t *testing.T) {
	const minor = 77
	links := sysfsDevices
	defer func() { sysfsDevices = links }()
	sysfsDevices = t.TempDir()
	device := unix.Stat_t{Mode: unix.S_IFCHR | 0o600, Rdev: unix.Mkdev(10, minor)}
	if isVMClockDevice(&device) {
		t.Error("unknown to sysfs: believed")
	}
	for name, is := range map[string]bool{
		"vmclock0": true, "vmclock12": true, "vmclock": false, "vmclock-1": false, "vmclockx": false, "fuse": false,
		"myvmclock0": false,
	} {
		link := filepath.Join(sysfsDevices, fmt.Sprintf("10:%d", minor))
		if err := os.Symlink("../../devices/virtual/misc/"+name, link); err != nil {
			t.Fatal(err)
		}
		if isVMClockDevice(&device) != is {
			t.Errorf("%q: %v", name, !is)
		}
		for what, other := range map[string]unix.Stat_t{
			"a block device": {Mode: unix.S_IFBLK, Rdev: device.Rdev},
			"a regular file": {Mode: unix.S_IFREG, Rdev: device.Rdev},
			"another major":  {Mode: device.Mode, Rdev: unix.Mkdev(11, minor)},
			"another minor":  {Mode: device.Mode, Rdev: unix.Mkdev(10, minor+1)},
		} {
			if isVMClockDevice(&other) {
				t.Errorf("%s: believed", what)
			}
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
}

// This kernel's devices have the names in sysfs that the kernel lists elsewhere.
func TestNamesOfThisKernelsDevices(t *testing.T) {
	list, err := os.ReadFile("/proc/misc")
	if err != nil {
		t.Skip("SKIP: no list of this kernel's devices")
	}
	for line := range strings.Lines(string(list)) {
		var minor uint32
		var name string
		if _, err := fmt.Sscan(line, &minor, &name); err != nil {
			t.Fatal(err)
		}
		device := unix.Stat_t{Mode: unix.S_IFCHR, Rdev: unix.Mkdev(10, minor)}
		if found, err := miscName(&device); found != name {
			t.Errorf("%q is called %q: %v", name, found, err)
		}
	}
}

func TestVMClock(t *testing.T) {
	const hasGeneration = 1 << 8
	anyRegularFile(t, filepath.Join(t.TempDir(), "vmclock0"))
	if openVMClock() != nil {
		t.Error("there is one where there is none")
	}
	wrong := vmclockPage(112, hasGeneration, 5, 7)
	wrong[0]++
	cases := []struct {
		name   string
		page   []byte
		counts bool
		count  uint64
	}{
		{"with a counter", vmclockPage(112, hasGeneration, 5, 7), true, 8},
		{"with a marker only", vmclockPage(104, 0, 5, 7), false, 6},
		{"too short for its counter", vmclockPage(104, hasGeneration, 5, 7), false, 6},
		{"another's magic", wrong, false, 0},
	}
	for _, c := range cases {
		if err := os.WriteFile(vmClockPath, c.page, 0o600); err != nil {
			t.Fatal(err)
		}
		clock := openVMClock()
		if clock.generation() != c.count || (clock != nil && clock.countsGenerations != c.counts) {
			t.Errorf("%s: %+v", c.name, clock)
		}
		if clock == nil {
			continue
		}
		file, err := os.OpenFile(vmClockPath, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		file.WriteAt([]byte{100}, 104)
		file.WriteAt([]byte{100}, 16)
		file.Close()
		if clock.generation() != 101 {
			t.Errorf("%s: a change is not seen: %d", c.name, clock.generation())
		}
	}
}

// A device that only VMs have proves that this is one, whatever the CPU says. The control is a driver without
// a device.
func TestADeviceProvesAVM(t *testing.T) {
	drivers, device := vmgenidDrivers, vmClockPath
	defer func() { vmgenidDrivers, vmClockPath, announcesHypervisor = drivers, device, hasHypervisor }()
	announcesHypervisor = func() bool { return false }
	driver := t.TempDir()
	vmgenidDrivers = []string{filepath.Join(driver, "none"), driver}
	vmClockPath = filepath.Join(driver, "none")
	for _, entry := range []string{"bind", "unbind", "uevent", "module"} {
		if err := os.WriteFile(filepath.Join(driver, entry), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if policy := machine(); policy.IsVM || policy.HasVMGenID || policy.HasDelayedNotification() || !policy.SeesClones() {
		t.Errorf("without a device: %+v", policy)
	}
	if err := os.Mkdir(filepath.Join(driver, "VMGENCTR:00"), 0o700); err != nil {
		t.Fatal(err)
	}
	if policy := machine(); !policy.IsVM || !policy.HasVMGenID || !policy.HasDelayedNotification() {
		t.Errorf("with a vmgenid: %+v", policy)
	}
	vmgenidDrivers = nil
	path := filepath.Join(driver, "vmclock0")
	if err := os.WriteFile(path, vmclockPage(104, 0, 5, 7), 0o600); err != nil {
		t.Fatal(err)
	}
	anyRegularFile(t, path)
	if policy := machine(); !policy.IsVM || policy.SeesClones() {
		t.Errorf("with a vmclock that counts no generations: %+v", policy)
	}
}

// What may be a vmclock, but is not in sysfs, is not used, and proves a VM too: without it a hypervisor that
// hides itself would go unseen. The control is a sysfs that knows the device by another name.
func TestADeviceThatSysfsDoesNotKnow(t *testing.T) {
	drivers, device, links := vmgenidDrivers, vmClockPath, sysfsDevices
	defer func() {
		vmgenidDrivers, vmClockPath, sysfsDevices, announcesHypervisor = drivers, device, links, hasHypervisor
	}()
	announcesHypervisor = func() bool { return false }
	vmgenidDrivers = nil
	vmClockPath = filepath.Join(t.TempDir(), "vmclock0")
	if err := unix.Mknod(vmClockPath, unix.S_IFCHR|0o600, int(unix.Mkdev(10, 255))); err != nil {
		t.Skip("SKIP: device nodes take CAP_MKNOD")
	}
	sysfsDevices = t.TempDir()
	if policy := machine(); !policy.IsVM || policy.HasVMClock() || policy.SeesClones() {
		t.Errorf("unknown to sysfs: %+v", policy)
	}
	if err := os.Symlink("../../devices/virtual/misc/other", filepath.Join(sysfsDevices, "10:255")); err != nil {
		t.Fatal(err)
	}
	if policy := machine(); policy.IsVM || policy.HasVMClock() {
		t.Errorf("another device: %+v", policy)
	}
}

// A vmclock that counts is what a clone is known by: at once, in every request and in the epoch; and gaps
// are followed until the kernel has reseeded too.
func TestAVMClockIsFollowed(t *testing.T) {
	page, own, kernel := seeded(t)
	count := countPlace.Load()
	defer func() { countPlace.Store(count); seenCount.Store(0); changedUnder.Store(0) }()
	countPlace.Store(&nothing)
	path := filepath.Join(t.TempDir(), "vmclock0")
	if err := os.WriteFile(path, vmclockPage(112, 1<<8, 5, 7), 0o600); err != nil {
		t.Fatal(err)
	}
	anyRegularFile(t, path)
	policy := machine()
	policy.HasVMGenID = true
	policy.vmclock.follow()
	page.BeginSeeding(policy.VM())
	page.Mark(kernel)
	before, _ := policy.Epoch(page)
	policy.Settle(before)
	tag := Tag()
	page.SetFreshnessTag(tag)
	if !policy.SeesClones() || policy.HasDelayedNotification() || policy.FollowsGaps(kernel) {
		t.Errorf("before the clone: %+v notified late, or not at all", policy)
	}

	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt([]byte{8}, 104); err != nil {
		t.Fatal(err)
	}
	after, _ := policy.Epoch(page)
	if after.VM == before.VM || policy.VM() != after.VM || policy.Shown().VM != after.VM || page.IsCurrent(after) {
		t.Errorf("the clone has the epoch %+v, as before: %+v", after, before)
	}
	if page.IsFresh(Tag()) {
		t.Error("the clone's buffer is still leased")
	}
	policy.Settle(after)
	if !policy.FollowsGaps(kernel) || policy.FollowsGaps(kernel+1) {
		t.Error("gaps are followed until the kernel has reseeded, and no longer")
	}
	if !own.HasVMClock() && own.VM() != 0 {
		t.Error("without a vmclock there is a count")
	}
}

// What a machine must give for a clone to be seen, and seen in time.
func TestWhatSeesClones(t *testing.T) {
	how, generation := watched(), generationPlace.Load()
	defer func() { decideOn(how, generation) }()
	cases := []struct {
		policy          Policy
		watch           Watch
		sees, tag, late bool
		followsGaps     bool
	}{
		{Policy{}, Mapped, true, true, false, false},
		{Policy{}, Probe, true, false, false, false},
		{Policy{}, Nothing, true, false, false, false},
		{Policy{IsVM: true}, Mapped, false, true, false, true},
		{Policy{IsVM: true}, Probe, false, false, false, true},
		{Policy{IsVM: true, HasVMGenID: true}, Mapped, true, true, true, true},
		{Policy{IsVM: true, HasVMGenID: true}, Probe, true, false, true, true},
		{Policy{IsVM: true, HasVMGenID: true}, Nothing, false, false, true, true},
		{Policy{IsVM: true, vmclock: &vmClock{countsGenerations: true}}, Mapped, true, true, false, false},
		{Policy{IsVM: true, HasVMGenID: true, vmclock: &vmClock{countsGenerations: true}}, Mapped, true, true, false, false},
		{Policy{IsVM: true, vmclock: &vmClock{}}, Mapped, false, true, false, true},
	}
	for _, c := range cases {
		decideOn(c.watch, generation)
		policy := &c.policy
		if policy.SeesClones() != c.sees || policy.TagSuffices() != c.tag || policy.HasDelayedNotification() != c.late ||
			policy.FollowsGaps(5) != c.followsGaps {
			t.Errorf("%+v, watched %d: sees clones %v, by the tag %v, late %v, follows gaps %v", c.policy, c.watch,
				policy.SeesClones(), policy.TagSuffices(), policy.HasDelayedNotification(), policy.FollowsGaps(5))
		}
	}
}

// Where the vDSO refuses, as it does for a state that is on two pages, there is no epoch, and the system call
// gives the seed.
func TestAVDSOThatRefuses(t *testing.T) {
	_, policy, _ := seeded(t)
	if policy.vdso == nil {
		t.Skip("SKIP: no getrandom in the vDSO")
	}
	how, generation := watched(), generationPlace.Load()
	defer func() { decideOn(how, generation) }()
	memory, kind := MapPages(3)
	if kind == NoMemory {
		t.Skip("SKIP: no memory that a fork wipes")
	}
	defer UnmapPages(memory)
	// SAFETY: of three pages there is a whole one at any place in the first two.
	page := (*Page)(unsafe.Add(unsafe.Pointer(memory[1]), -int(unsafe.Offsetof(Page{}.vdso))-8))
	decideOn(Probe, nil)
	if epoch, ok := policy.Epoch(page); ok {
		t.Errorf("the epoch %+v", epoch)
	}
	if _, ok := policy.SeedFromKernel(page); !ok || page.Seed == [StateLen]byte{} {
		t.Error("no seed by the system call")
	}
}

// A change of the count is unsettled until the kernel's generation moves.
func TestAChangedCountIsUnsettled(t *testing.T) {
	defer func() { seenCount.Store(0); changedUnder.Store(0) }()
	noteCount(5, 10)
	if isUnsettled(10) {
		t.Error("a first look is no change")
	}
	noteCount(6, 10)
	if !isUnsettled(10) || isUnsettled(11) {
		t.Error("a change is unsettled under its generation, and no other")
	}
}

// Whoever is pinned has its P alone: no other goroutine runs on it meanwhile.
func TestPinned(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var others atomic.Uint64
	stop := make(chan struct{})
	go func() {
		for {
			select {
			case <-stop:
				return
			default:
				others.Add(1)
				runtime.Gosched()
			}
		}
	}()
	defer close(stop)
	runtime.Gosched()
	Pin()
	before := others.Load()
	for began := time.Now(); time.Since(began) < 50*time.Millisecond; {
	}
	during := others.Load() - before
	Unpin()
	for began := time.Now(); others.Load() == before && time.Since(began) < time.Minute; {
		runtime.Gosched()
	}
	if during != 0 {
		t.Errorf("another goroutine ran %d times on a pinned P", during)
	}
	if others.Load() == before {
		t.Error("the other goroutine never runs: this shows nothing")
	}
}
