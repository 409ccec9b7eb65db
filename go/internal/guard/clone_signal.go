//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"fmt"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/squall-rng/squall/go/internal/failpoint"
	"golang.org/x/sys/unix"
)

// The signal of clones is a value in this VM's memory that changes before a restored VM runs again: kvm-clock's records,
// vmclock's count, or vmgenid's identifier. It is never entropy: sibling clones may see the same new value. Where
// kvm-clock answers, no device is looked for.

// device is a device of the kernel that shows a signal in a page.
type device struct {
	// path is where the device is; a test replaces it.
	path string
	// isNamed reports whether the device's driver gives it this name.
	isNamed func(name string) bool
	// signal returns the signal that the open device shows; nil if it shows none.
	signal func(file int) *cloneSignal
}

// devices lists them, the most preferred first.
var devices = []*device{&vmClock, &vmgenidPage}

// cloneSignal is a mapped page with the signal in it. The page is read-only, and stays mapped.
type cloneSignal struct {
	device *device
	// kind is [NoSignal] if not every restore of this VM changes the signal, which is then checked and never relied on.
	kind Signal
	page unsafe.Pointer
	// first and last are the signal's words, and equal if there is only one.
	first, last *uint64
}

// openCloneSignal opens the best signal that this process may read: the first that every restore changes, or else
// the first that is only checked; nil if there is none.
func openCloneSignal() *cloneSignal {
	if failpoint.HideCloneSignal.IsActive() {
		return nil
	}
	var additional *cloneSignal
	for _, device := range devices {
		signal := device.open()
		switch {
		case signal.isImmediate():
			if additional != nil {
				unmap(additional.page, PageSize)
			}
			return signal
		case signal != nil && additional == nil:
			additional = signal
		case signal != nil:
			unmap(signal.page, PageSize)
		}
	}
	return additional
}

func (d *device) open() *cloneSignal {
	file, ok := openDevice(d.path, d.isNamed)
	if !ok {
		return nil
	}
	defer unix.Close(file)
	signal := d.signal(file)
	if signal != nil {
		signal.device = d
	}
	return signal
}

// mayHaveCloneSignal reports whether there is a device that may have a signal but cannot be identified, for
// example without /sys. The device is not used, and the machine counts as a VM.
func mayHaveCloneSignal() bool {
	isUnidentified := func(d *device) bool { return isUnidentified(d.path) }
	return !failpoint.HideCloneSignal.IsActive() && slices.ContainsFunc(devices, isUnidentified)
}

// isOf reports whether this is the device's signal.
func (s *cloneSignal) isOf(device *device) bool { return s != nil && s.device == device }

// isImmediate reports whether every restore of this VM changes the signal before the VM runs.
func (s *cloneSignal) isImmediate() bool { return s != nil && s.kind != NoSignal }

// watch makes the fast path compare the signal.
func (s *cloneSignal) watch() {
	if s != nil {
		signalFirst.CompareAndSwap(&noSignal, s.first)
		signalLast.CompareAndSwap(&noSignal, s.last)
	}
}

// value returns the signal's value plus one, so that it is 0 only without a signal. Its words are aligned,
// so no word is read half-changed, and they change only while the VM is stopped.
func (s *cloneSignal) value() uint64 {
	if s == nil {
		return 0
	}
	return fold(atomic.LoadUint64(s.first), atomic.LoadUint64(s.last)) + 1
}

// fold combines a signal's two words into one. A count, which is the only word, appears in both halves.
// Different identifiers of vmgenid, which are random, fold to the same word once in 2^64.
func fold(first, last uint64) uint64 { return bits.RotateLeft64(first, 32) ^ last }

// Opens and maps the miscellaneous devices that show a signal of clones. Only the kernel's device is
// accepted: any other file could show words that never change, or raise SIGBUS when it is truncated.

// isDevice reports whether a file is a miscellaneous device with an expected name; a test replaces it.
var isDevice = isMiscDevice

// sysfsDevices is the folder with sysfs's links for the numbers of character devices; a test replaces it.
var sysfsDevices = "/sys/dev/char"

// openDevice opens the device at a path for reading, if its driver gave it the expected name.
func openDevice(path string, isExpectedName func(name string) bool) (int, bool) {
	// The file is checked before the call, because opening another device may have effects, and again after it.
	var status unix.Stat_t
	if unix.Stat(path, &status) != nil || !isDevice(&status, isExpectedName) {
		return 0, false
	}
	file, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return 0, false
	}
	if unix.Fstat(file, &status) != nil || !isDevice(&status, isExpectedName) {
		unix.Close(file)
		return 0, false
	}
	return file, true
}

// mapDevice maps the page of an open device; nil if it cannot be mapped.
func mapDevice(file int) unsafe.Pointer {
	page, err := unix.MmapPtr(file, 0, nil, PageSize, unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil
	}
	return page
}

func isMiscDevice(status *unix.Stat_t, isExpectedName func(name string) bool) bool {
	name, err := miscName(status)
	return err == nil && isExpectedName(name)
}

// isUnidentified reports whether there is a miscellaneous device at a path that cannot be looked up.
func isUnidentified(path string) bool {
	var status unix.Stat_t
	if unix.Stat(path, &status) != nil {
		return false
	}
	_, err := miscName(&status)
	return err != nil
}

// miscName returns the name that a miscellaneous device got from its driver, or an error if it cannot be
// looked up; an empty name for other files.
func miscName(status *unix.Stat_t) (string, error) {
	const miscMajor = 10
	if status.Mode&unix.S_IFMT != unix.S_IFCHR || unix.Major(status.Rdev) != miscMajor {
		return "", nil
	}
	device, err := os.Readlink(fmt.Sprintf("%s/%d:%d", sysfsDevices, miscMajor, unix.Minor(status.Rdev)))
	if err != nil {
		return "", err
	}
	return filepath.Base(device), nil
}
