//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// useTestDevices makes the guards search for devices in an empty directory of the test, and removes all other
// proofs of a VM.
func useTestDevices(t *testing.T) {
	t.Helper()
	directory := t.TempDir()
	drivers, links, clock, page, log := vmgenidDrivers, sysfsDevices, vmClock.path, vmgenidPage.path, logPath
	kvmClockFinder := findKVMClock
	t.Cleanup(func() {
		vmgenidDrivers, sysfsDevices, vmClock.path, vmgenidPage.path, logPath = drivers, links, clock, page, log
		hypervisorAnnounced, findKVMClock = hasHypervisor, kvmClockFinder
	})
	findKVMClock = func() *kvmClock { return nil }
	hypervisorAnnounced = func() bool { return false }
	vmgenidDrivers = [2]string{}
	vmClock.path = filepath.Join(directory, "vmclock0")
	vmgenidPage.path = filepath.Join(directory, "squall-vmgenid")
	logPath = filepath.Join(directory, "kmsg")
}

// acceptFiles makes regular files count as devices.
func acceptFiles(t *testing.T) {
	t.Helper()
	t.Cleanup(func() { isDevice = isMiscDevice })
	isDevice = func(*unix.Stat_t, func(string) bool) bool { return true }
}

func write(t *testing.T, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// overwrite changes bytes of a file that stays mapped.
func overwrite(t *testing.T, path string, at int64, content ...byte) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteAt(content, at); err != nil {
		t.Fatal(err)
	}
}

const hasGeneration = 1 << 8

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

// pageOfVMGenID is a file that reads and maps as the module's device does: its identifier stands in the place
// that its first bytes, which a read gives, say.
func pageOfVMGenID(at uint64) []byte {
	page := make([]byte, PageSize)
	binary.NativeEndian.PutUint64(page[16:], at)
	return page
}

// No change of the generation undoes one of the tick.
func TestTagsDiffer(t *testing.T) {
	followed := tickAddress.Load()
	defer tickAddress.Store(followed)
	var tick uint64
	tickAddress.Store(&tick)
	seen := map[uint64]bool{}
	for generation := range uint64(64) {
		for count := range uint64(64) {
			for _, mode := range []uint64{0, 3 << 32} {
				tick = mode | count<<1
				seen[TagUnder(generation).Kernel] = true
			}
		}
	}
	if len(seen) != 64*64*2 {
		t.Errorf("%d tags of %d", len(seen), 64*64*2)
	}
}

// Any other file at a device's path is refused, even with the same contents. The control is that the same
// page is accepted if files are accepted.
func TestOnlyTheKernelsDevicesAreAccepted(t *testing.T) {
	useTestDevices(t)
	directory := t.TempDir()
	at := func(name string) string { return filepath.Join(directory, name) }
	place := func(name string) { vmClock.path, vmgenidPage.path = at(name), at(name) }
	write(t, at("clock"), vmclockPage(112, hasGeneration, 5, 7))
	write(t, at("page"), pageOfVMGenID(40))
	write(t, at("empty"), nil)
	for name, err := range map[string]error{
		"clock's link": os.Symlink("clock", at("clock's link")),
		"page's link":  os.Symlink("page", at("page's link")),
		"fifo":         unix.Mkfifo(at("fifo"), 0o600),
		"zero":         os.Symlink("/dev/zero", at("zero")),
		// A device with the same major number.
		"misc": os.Symlink("/dev/fuse", at("misc")),
	} {
		if err != nil {
			t.Fatal(err)
		}
		place(name)
		if openCloneSignal() != nil {
			t.Errorf("%s: accepted", name)
		}
	}
	for name, device := range map[string]*device{
		"clock": &vmClock, "clock's link": &vmClock, "page": &vmgenidPage, "page's link": &vmgenidPage,
	} {
		place(name)
		if openCloneSignal() != nil {
			t.Errorf("%s: accepted", name)
		}
		acceptFiles(t)
		if !openCloneSignal().isOf(device) {
			t.Errorf("%s: refused although files are accepted: the test proves nothing", name)
		}
		isDevice = isMiscDevice
	}
	acceptFiles(t)
	place("empty")
	if !faults(func() { vmClock.open() }) {
		t.Error("a truncated file can be read: the test proves nothing")
	}
}

// faults reports whether call touches memory that is not there.
func faults(call func()) (faulted bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { faulted = recover() != nil }()
	call()
	return false
}

// A device is known by the name in sysfs, whatever its file is called.
func TestDevicesAreKnownByTheirNames(t *testing.T) {
	const minor = 77
	useTestDevices(t)
	sysfsDevices = t.TempDir()
	device := unix.Stat_t{Mode: unix.S_IFCHR | 0o600, Rdev: unix.Mkdev(10, minor)}
	if isMiscDevice(&device, isVMClockName) {
		t.Error("unknown to sysfs: accepted")
	}
	for name, is := range map[string]bool{
		"vmclock0": true, "vmclock12": true, "vmclock": false, "vmclock-1": false, "vmclockx": false, "fuse": false,
		"myvmclock0": false,
	} {
		link := filepath.Join(sysfsDevices, fmt.Sprintf("10:%d", minor))
		if err := os.Symlink("../../devices/virtual/misc/"+name, link); err != nil {
			t.Fatal(err)
		}
		if isMiscDevice(&device, isVMClockName) != is {
			t.Errorf("%q: %v", name, !is)
		}
		for what, other := range map[string]unix.Stat_t{
			"a block device": {Mode: unix.S_IFBLK, Rdev: device.Rdev},
			"a regular file": {Mode: unix.S_IFREG, Rdev: device.Rdev},
			"another major":  {Mode: device.Mode, Rdev: unix.Mkdev(11, minor)},
			"another minor":  {Mode: device.Mode, Rdev: unix.Mkdev(10, minor+1)},
		} {
			if isMiscDevice(&other, isVMClockName) {
				t.Errorf("%s: accepted", what)
			}
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
}

// This kernel's devices have the names in sysfs that the kernel lists elsewhere.
func TestNamesOfThisKernelsDevices(t *testing.T) {
	if _, err := os.Stat(sysfsDevices); err != nil {
		t.Skip("no sysfs")
	}
	list := miscDevices(t)
	for line := range strings.Lines(list) {
		var minor uint32
		var name string
		if _, err := fmt.Sscan(line, &minor, &name); err != nil {
			t.Fatal(err)
		}
		device := unix.Stat_t{Mode: unix.S_IFCHR, Rdev: unix.Mkdev(10, minor)}
		// A driver may have come or gone meanwhile.
		if found, err := miscName(&device); found != name && strings.Contains(miscDevices(t), line) {
			t.Errorf("%q is called %q: %v", name, found, err)
		}
	}
}

// miscDevices is the kernel's list of miscellaneous devices.
func miscDevices(t *testing.T) string {
	t.Helper()
	list, err := os.ReadFile("/proc/misc")
	if err != nil {
		t.Skip("no list of this kernel's devices")
	}
	return string(list)
}

func TestVMClock(t *testing.T) {
	useTestDevices(t)
	acceptFiles(t)
	if vmClock.open() != nil {
		t.Error("there is one where there is none")
	}
	wrong := vmclockPage(112, hasGeneration, 5, 7)
	wrong[0]++
	cases := []struct {
		name string
		page []byte
		kind Signal
		is   bool
		// count stands in the page.
		count uint64
	}{
		{"with a counter", vmclockPage(112, hasGeneration, 5, 7), VMClock, true, 7},
		{"with a marker only", vmclockPage(104, 0, 5, 7), "", true, 5},
		{"too short for its counter", vmclockPage(104, hasGeneration, 5, 7), "", true, 5},
		{"another's magic", wrong, "", false, 0},
	}
	for _, c := range cases {
		write(t, vmClock.path, c.page)
		clock := vmClock.open()
		if (clock != nil) != c.is || c.is && clock.kind != c.kind {
			t.Errorf("%s: %+v", c.name, clock)
		}
		if !c.is {
			continue
		}
		if clock.value() != fold(c.count, c.count)+1 {
			t.Errorf("%s: the value is %#x", c.name, clock.value())
		}
		overwrite(t, vmClock.path, 104, 100)
		overwrite(t, vmClock.path, 16, 100)
		if clock.value() != fold(100, 100)+1 {
			t.Errorf("%s: a change is not seen: %#x", c.name, clock.value())
		}
	}
}

// Each of the identifier's bits is seen, and no other of the page's.
func TestVMGenIDPage(t *testing.T) {
	useTestDevices(t)
	acceptFiles(t)
	if vmgenidPage.open() != nil {
		t.Error("there is one where there is none")
	}
	const idLen = 16
	for _, at := range []uint64{40, 1000, PageSize - idLen} {
		write(t, vmgenidPage.path, pageOfVMGenID(at))
		page := vmgenidPage.open()
		if !page.isImmediate() {
			t.Fatalf("at %d: %+v", at, page)
		}
		before := page.value()
		for i := at - 8; i < min(at+idLen+8, PageSize); i++ {
			isIdentifier := i >= at && i < at+idLen
			for bit := range 8 {
				overwrite(t, vmgenidPage.path, int64(i), 1<<bit)
				if (page.value() != before) != isIdentifier {
					t.Errorf("at %d, byte %d, bit %d", at, i, bit)
				}
			}
			overwrite(t, vmgenidPage.path, int64(i), 0)
		}
	}
	for _, at := range []uint64{4, 41, PageSize - 8, PageSize, 1 << 63, ^uint64(0) - 7} {
		write(t, vmgenidPage.path, pageOfVMGenID(at))
		if vmgenidPage.open() != nil {
			t.Errorf("at %d: accepted", at)
		}
	}
	write(t, vmgenidPage.path, bytes.Repeat([]byte{0}, 23))
	if vmgenidPage.open() != nil {
		t.Error("a short read: accepted")
	}
}

// A vmclock that counts restores goes before vmgenid's page, and the page before a vmclock that does not. Each of
// them proves that this is a VM.
func TestTheBestSignalIsUsed(t *testing.T) {
	useTestDevices(t)
	acceptFiles(t)
	for _, c := range []struct {
		name                         string
		clock, page                  []byte
		isClock, isPage, isImmediate bool
	}{
		{"both", vmclockPage(112, hasGeneration, 5, 7), pageOfVMGenID(40), true, false, true},
		{"a vmclock that does not count", vmclockPage(104, 0, 5, 7), pageOfVMGenID(40), false, true, true},
		{"that alone", vmclockPage(104, 0, 5, 7), pageOfVMGenID(41), true, false, false},
		{"the page alone", nil, pageOfVMGenID(40), false, true, true},
	} {
		write(t, vmClock.path, append(c.clock, make([]byte, PageSize-len(c.clock))...))
		write(t, vmgenidPage.path, c.page)
		policy := detectPolicy()
		if policy.HasVMClock() != c.isClock || policy.HasVMGenIDPage() != c.isPage || !policy.IsVM ||
			policy.HasImmediateSignal() != c.isImmediate || policy.NoticesClones() != c.isImmediate {
			t.Errorf("%s: %+v of %+v", c.name, policy, policy.signal)
		}
	}
}

// A vmgenid, which only VMs have, proves that this is one, whatever the CPU says. The control is a driver without a
// device.
func TestADeviceProvesAVM(t *testing.T) {
	useTestDevices(t)
	driver := t.TempDir()
	vmgenidDrivers = [2]string{filepath.Join(driver, "none"), driver}
	for _, entry := range []string{"bind", "unbind", "uevent", "module"} {
		write(t, filepath.Join(driver, entry), nil)
	}
	if policy := detectPolicy(); policy.IsVM || policy.HasVMGenID() || !policy.NoticesClones() {
		t.Errorf("without a device: %+v", policy)
	}
	if err := os.Mkdir(filepath.Join(driver, "VMGENCTR:00"), 0o700); err != nil {
		t.Fatal(err)
	}
	if policy := detectPolicy(); !policy.IsVM || !policy.HasVMGenID() {
		t.Errorf("with a vmgenid: %+v", policy)
	}
}

// A device that may have a signal, but is not in sysfs, is not used, but it proves a VM too: otherwise a
// hypervisor that hides itself would not be noticed. The control is a sysfs that knows the device by another name.
func TestADeviceThatSysfsDoesNotKnow(t *testing.T) {
	for minor, path := range map[uint32]*string{254: &vmClock.path, 255: &vmgenidPage.path} {
		t.Run(filepath.Base(*path), func(t *testing.T) {
			useTestDevices(t)
			if err := unix.Mknod(*path, unix.S_IFCHR|0o600, int(unix.Mkdev(10, minor))); err != nil {
				t.Skip("device nodes take CAP_MKNOD")
			}
			sysfsDevices = t.TempDir()
			if policy := detectPolicy(); !policy.IsVM || policy.signal != nil || policy.NoticesClones() {
				t.Errorf("unknown to sysfs: %+v", policy)
			}
			link := filepath.Join(sysfsDevices, fmt.Sprintf("10:%d", minor))
			if err := os.Symlink("../../devices/virtual/misc/other", link); err != nil {
				t.Fatal(err)
			}
			if policy := detectPolicy(); policy.IsVM || policy.signal != nil {
				t.Errorf("another device: %+v", policy)
			}
		})
	}
}

// A signal that is relied on is what a clone is known by: at once, in every request and in the epoch.
func TestASignalIsWatched(t *testing.T) {
	for _, c := range []struct {
		name    string
		path    *string
		content []byte
		// at is a byte of the signal.
		at int64
	}{
		{"vmclock", &vmClock.path, vmclockPage(112, hasGeneration, 5, 7), 104},
		{"vmgenid's page, first byte", &vmgenidPage.path, pageOfVMGenID(40), 40},
		{"vmgenid's page, last byte", &vmgenidPage.path, pageOfVMGenID(40), 55},
	} {
		t.Run(c.name, func(t *testing.T) {
			useTestDevices(t)
			acceptFiles(t)
			write(t, *c.path, c.content)
			checkSignalIsWatched(t, func() { overwrite(t, *c.path, c.at, 8) })
		})
	}
}

// Where kvm-clock answers, it is the signal, and no device is looked for.
func TestKVMClockIsTheMostPreferredSignal(t *testing.T) {
	useTestDevices(t)
	acceptFiles(t)
	write(t, vmClock.path, vmclockPage(112, hasGeneration, 5, 7))
	records := plausibleRecords()
	findKVMClock = func() *kvmClock { return ownKVMClock(t, records) }
	if policy := detectPolicy(); policy.CloneGuard() != "kvm-clock" || policy.signal != nil || !policy.IsVM {
		t.Errorf("%+v", policy)
	}
	checkSignalIsWatched(t, func() {
		for i := range records {
			records[i][0] += 2
		}
	})
}

// checkSignalIsWatched fails unless what the clone changes is noticed.
func checkSignalIsWatched(t *testing.T, clone func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	page, kernel := ownPage(t), ownGeneration(t)
	first, last := signalFirst.Load(), signalLast.Load()
	own, all := ownRecords.Load(), allRecords.Load()
	defer func() {
		signalFirst.Store(first)
		signalLast.Store(last)
		ownRecords.Store(own)
		allRecords.Store(all)
	}()
	new(kvmClock).giveUp() // that of this machine
	signalFirst.Store(&noSignal)
	signalLast.Store(&noSignal)
	policy := detectPolicy()
	policy.signal.watch()
	page.BeginSeeding(policy.VM())
	page.SetGeneration(kernel)
	before, _ := policy.Epoch(page)
	isFresh := func() bool { return page.IsFresh(Tag{5, CurrentTag().VM}) }
	page.SetFreshnessTag(Tag{5, CurrentTag().VM})
	// A move to another CPU changes the tag, too.
	for !isFresh() {
		page.SetFreshnessTag(Tag{5, CurrentTag().VM})
	}
	if !page.IsCurrent(before) || !policy.NoticesClones() || !policy.HasImmediateSignal() {
		t.Errorf("before the clone: %+v", policy)
	}
	clone()
	after, _ := policy.Epoch(page)
	if after.VM == before.VM || policy.VM() != after.VM || policy.Shown().VM != after.VM || page.IsCurrent(after) {
		t.Errorf("the clone has the epoch %+v, as before: %+v", after, before)
	}
	if isFresh() {
		t.Error("the clone's buffer is still fresh")
	}
}
