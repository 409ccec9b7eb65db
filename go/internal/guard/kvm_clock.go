//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"math/bits"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/squall-rng/squall/go/internal/aes256"
	"github.com/squall-rng/squall/go/internal/failpoint"
	"golang.org/x/sys/unix"
)

// kvm-clock's records as a signal of clones.
//
// KVM keeps a record for each virtual CPU in the guest's memory: a version, a time and how to count on from it
// (Documentation/virt/kvm/x86/msr.rst in Linux). When a monitor restores a snapshot, it makes new virtual CPUs, and KVM
// rewrites a CPU's record before that CPU executes its first instruction. Linux maps the records of its first 64 CPUs
// into each process, where the vDSO reads them.
//
// So bytes are this machine's alone if the record of the CPU on which the thread runs is the one that was noted before
// the bytes were made. The CPU's number must be read after the bytes were taken: then the thread runs, in a clone, on a
// CPU whose record has been rewritten.
//
// KVM does this, and promises it nowhere. Only KVM does: VirtualBox shows KVM's name, and restores the records as they
// were.

// record is one CPU's, struct pvclock_vcpu_time_info of Linux, as words: the version; the counter's value and the time
// at the last update; factor, shift and flags. The rest of its cache line is zeros.
type record [8]uint64

// records are a page.
type records [64]record

func (r *record) word(at int) uint64 { return atomic.LoadUint64(&r[at]) }

// isPlausible reports whether a record is there, and nothing that a record does not have. KVM may be writing it.
func (r *record) isPlausible() bool {
	const allFlags = 0b111
	for range 4 {
		version, factor, flagsAndPadding := r.word(0), uint32(r.word(3)), r.word(3)>>40
		isThere := version != 0 && version < 1<<32 && version%2 == 0 && factor != 0
		if isThere && flagsAndPadding <= allFlags && r.word(4)|r.word(5)|r.word(6)|r.word(7) == 0 {
			return true
		}
	}
	return false
}

// rate returns the factor and the shift.
func (r *record) rate() uint64 { return r.word(3) & (1<<40 - 1) }

// nanoseconds returns how long so many cycles take: cycles << shift * factor / 2^32.
func (r *record) nanoseconds(cycles uint64) uint64 {
	rate := r.rate()
	if shift := int(int8(rate >> 32)); shift >= 0 {
		cycles <<= shift
	} else {
		cycles >>= -shift
	}
	high, low := bits.Mul64(cycles, rate&(1<<32-1))
	return high<<32 | low>>32
}

// arePlausible reports whether there is a record for the first CPU, and for the others records of the same rate or
// nothing.
func (r *records) arePlausible() bool {
	for i := range r {
		isNone := i > 0 && r[i] == record{}
		if !isNone && (!r[i].isPlausible() || r[i].rate() != r[0].rate()) {
			return false
		}
	}
	return r[0].word(1) <= cycles()
}

// all returns a number that changes with any of the records. Another CPU's record changes when that CPU runs. The
// fast path calls it while it is pinned, so it must not be a preemption point.
//
//go:nosplit
func (r *records) all() uint64 {
	if failpoint.FreezeKVMClock.IsActive() {
		return 1
	}
	return wordOf(sumRecords(r))
}

// newestTime returns when KVM last began to count anew: the newest time that a record counts on from. A restore changes it
// once, with the first CPU that runs, because a monitor restores the clock with its time; the step that hosts before
// Linux 6.19 make every five minutes does not.
func (r *records) newestTime() uint64 {
	var count, time uint64
	for i := range r {
		if c, t := r[i].word(1), r[i].word(2); t > time || t == time && c > count {
			count, time = c, t
		}
	}
	return bits.RotateLeft64(count, 32) ^ time
}

// wordOf combines a version and a time. A restore changes the version by two or more, which the upper half shows. The
// lower half shows the time of the update too, because old hosts counted the versions from 0 again.
func wordOf(version, time uint64) uint64 { return bits.RotateLeft64(version, 32) ^ time&(1<<32-1) }

// What requests compare: the record of their own CPU and its number or, on a CPU without RDPID, all records. Both are
// nil unless the records are relied on.
var ownRecords, allRecords atomic.Pointer[records]

// kvmClock is what this process knows of the records. A process without them has none.
type kvmClock struct {
	records *records
	// first is when they were found.
	first moment
	state atomic.Uint32
}

const (
	// plausible means that the records look like KVM's. Whether they count at its rate shows only after rateInterval.
	plausible uint32 = iota
	// reliedOn means that they are KVM's for certain.
	reliedOn
	// givenUp means that they are not, or change too often.
	givenUp
)

// findKVMClock finds the records, if this process can read them and they look like KVM's; a test replaces it.
//
// It asks the kernel for nothing that a sandbox refuses: whether memory can be read (rt_sigprocmask), and whether the
// CPUs fit into a mask of 64 (sched_getaffinity).
var findKVMClock = func() *kvmClock {
	if !mayHaveKVMClock || failpoint.HideKVMClock.IsActive() || vdsoBase == 0 || !hasAtMost64CPUs() {
		return nil
	}
	// From Linux 6.13 on, and before.
	for _, below := range []uintptr{2 * PageSize, 3 * PageSize} {
		page := pointer(vdsoBase - below)
		if !isReadable(page) || !(*records)(page).arePlausible() {
			continue
		}
		if first, ok := now(); ok {
			return &kvmClock{records: (*records)(page), first: first}
		}
	}
	return nil
}

// hasAtMost64CPUs reports whether the CPUs that this machine may ever have are at most 64: the kernel refuses a mask
// that is too short for them (sched_getaffinity(2)).
func hasAtMost64CPUs() bool {
	var mask uint64
	_, _, errno := unix.RawSyscall(unix.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask)))
	return errno == 0
}

// moment is the counter, and the kernel's clock in nanoseconds (CLOCK_MONOTONIC_RAW), at the same time.
type moment struct{ count, time uint64 }

// rateInterval is after how many nanoseconds the rate of the records is compared with that of the kernel's clock.
const rateInterval = uint64(10 * time.Millisecond)

// now returns the moment; false if the thread was interrupted between the readings, again and again.
func now() (moment, bool) {
	// The readings take a few microseconds at most: one in a thousand of the interval.
	const maxCycles = 20_000
	for range 4 {
		var time unix.Timespec
		before := cycles()
		_, _, errno := unix.RawSyscall(unix.SYS_CLOCK_GETTIME, unix.CLOCK_MONOTONIC_RAW, uintptr(unsafe.Pointer(&time)), 0)
		count := cycles()
		if errno == 0 && count-before < maxCycles {
			return moment{count, uint64(time.Nano())}, true
		}
	}
	return moment{}, false
}

// cycles returns the CPU's cycle counter.
func cycles() uint64 {
	var count [3]uint64
	aes256.XORNoise(&count, 0)
	return count[0]
}

// settle relies on the records, or gives them up, once it can be told whether they are KVM's.
func (k *kvmClock) settle() {
	if !k.isUndecided() {
		return
	}
	now, ok := now()
	passed := now.time - k.first.time
	if !ok || passed < rateInterval {
		return
	}
	counted := k.records[0].nanoseconds(now.count - k.first.count)
	if isSameTime(counted, passed) && k.records.arePlausible() && isGuestOfKVM() {
		k.rely()
	} else {
		k.state.CompareAndSwap(plausible, givenUp)
	}
}

// isSameTime reports whether two durations are the same up to one in a hundred.
func isSameTime(counted, passed uint64) bool {
	return max(counted, passed)-min(counted, passed) <= passed/100
}

func (k *kvmClock) rely() {
	if !k.state.CompareAndSwap(plausible, reliedOn) {
		return
	}
	if hasRDPID() && !failpoint.HideRDPID.IsActive() {
		ownRecords.Store(k.records)
	} else {
		allRecords.Store(k.records)
	}
}

func (k *kvmClock) giveUp() {
	k.state.Store(givenUp)
	ownRecords.Store(nil)
	allRecords.Store(nil)
}

// isUndecided reports whether it cannot be told yet if the records are KVM's.
func (k *kvmClock) isUndecided() bool { return k != nil && k.state.Load() == plausible }

// isReliedOn reports whether the records are KVM's for certain, and have not been given up.
func (k *kvmClock) isReliedOn() bool { return k != nil && k.state.Load() == reliedOn }

// lastChange is the last value that changesInSecond has counted. That has a second, and in its lower 16 bits how many
// changes the second has had so far.
var lastChange, changesInSecond atomic.Uint64

// noteChange records that the records have changed to value. If they change many times a second, they are given up: on
// hosts whose counters are unstable, KVM rewrites them whenever a virtual CPU moves to another physical one.
func (k *kvmClock) noteChange(value, second uint64) {
	// A restore of 64 CPUs has fewer: each changes its record when it first runs.
	const maxChanges = 256
	if !k.isReliedOn() || lastChange.Swap(value) == value {
		return
	}
	counted, count := changesInSecond.Load(), uint64(1)
	if counted>>16 == second {
		count += counted & (1<<16 - 1)
	}
	changesInSecond.Store(second<<16 | count)
	if count > maxChanges {
		k.giveUp()
	}
}
