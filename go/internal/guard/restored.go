//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"os"
	"strconv"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// The process's part of the clone generation, which changes when the process was restored from a checkpoint (CRIU).
//
// A restored process is a new one to the kernel: it has another start time, or runs in another boot. So is a forked
// child, which counts as a copy too: programs in Go can only fork raw, and nothing tells the child. No process is
// checkpointed and restored within one tick, so the kernel is asked once in each.

// restores is what this process knows of its start.
type restores struct {
	// first is what ownStart returned first, and last what it returned last; 0 if it was not called yet.
	first, last atomic.Uint64
	// askedIn is the tick in which it was called last, plus one; 0 before.
	askedIn atomic.Uint64
}

// number returns a number that changes when the process has been restored; 0 until then.
func (r *restores) number() uint64 {
	if now := tick() + 1; !FollowsTick() || now != r.askedIn.Load() {
		r.ask(now)
	}
	return r.last.Load() - r.first.Load()
}

// isKnown reports whether a restore would be noticed.
func (r *restores) isKnown() bool {
	r.number()
	return r.last.Load() != 0
}

// ask asks the kernel in a tick, whose number plus one is given.
func (r *restores) ask(askedIn uint64) {
	before := r.last.Load()
	if now, ok := ownStart(); ok {
		if before == 0 {
			r.first.CompareAndSwap(0, now)
		}
		r.last.CompareAndSwap(before, now) // a goroutine that read an older value changes nothing
	}
	r.askedIn.Store(askedIn)
}

// ownStart returns a number of the time when this process started, and of the boot in which it did; false if /proc does
// not show them. gVisor restores both. A test replaces it.
var ownStart = func() (start uint64, ok bool) {
	// factor is 2^64 divided by the golden ratio: it spreads the numbers, so that a sum with another changes with either.
	const factor = 0x9e37_79b9_7f4a_7c15
	if isGVisor() {
		return 0, false
	}
	stat, _ := os.ReadFile("/proc/self/stat")
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	time, isTime := startTime(stat)
	var boot [4]byte
	if !isTime || len(id) < 8 {
		return 0, false
	}
	_, err := hex.Decode(boot[:], id[:8])
	return (uint64(binary.BigEndian.Uint32(boot[:]))<<32 + time) * factor, err == nil
}

// startTime returns the start time in hundredths of a second since boot, of what /proc/self/stat says
// (proc_pid_stat(5)). The second field is the program's name in parentheses, and may hold anything.
func startTime(stat []byte) (time uint64, ok bool) {
	const field = 22
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= field-3 {
		return 0, false
	}
	time, err := strconv.ParseUint(string(fields[field-3]), 10, 64)
	return time, err == nil
}

// isGVisor reports whether gVisor serves system calls, by what it says of its kernel.
func isGVisor() bool {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return false
	}
	return unix.ByteSliceToString(name.Release[:]) == "4.4.0" &&
		unix.ByteSliceToString(name.Version[:]) == "#1 SMP Sun Jan 10 15:06:54 PST 2016"
}
