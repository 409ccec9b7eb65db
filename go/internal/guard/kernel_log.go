//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The kernel's own message that this VM was cloned, and the number of the newest.
//
// Linux writes it to its log after vmgenid's interrupt, when it has reseeded its RNG (add_vmfork_randomness in
// drivers/char/random.c; 5.18). So nothing is read as long as the kernel's generation stays the same. /dev/kmsg returns one
// record for each read, with a sequence number: that of the newest clone's message stands for the generation of the
// machine. A program's records cannot pass for the kernel's.

// cloneMessages is what this process knows of clones by the kernel's log.
type cloneMessages struct {
	// newest is the number of the newest clone's message plus 1; 0 if none came.
	newest atomic.Uint64
	// doubts is how often a message may have been missed.
	doubts atomic.Uint64
	// isLost is set if the log cannot be read any more.
	isLost atomic.Bool
	// settled is the generation of the kernel's RNG under which no message is awaited any more.
	settled atomic.Uint64
	// awaited is the generation that a message may belong to, and awaitedSince is when it was first seen, or later.
	awaited      atomic.Uint64
	awaitedSince atomic.Int64

	log atomic.Pointer[kernelLog]
}

// kernelLog is the kernel's log, open at its end.
type kernelLog struct {
	descriptor int
	// process is the one that opened it: a forked child has the same position in it.
	process int
}

// logPath is where the kernel's log is; a test replaces it.
var logPath = "/dev/kmsg"

// messageGrace is how long after a reseed a message may come, in nanoseconds: the kernel writes it right after.
const messageGrace = int64(time.Second)

var processStart = time.Now()

// sinceStart returns a time in nanoseconds; a test replaces it.
var sinceStart = func() int64 { return int64(time.Since(processStart)) }

// number returns a number that changes with each clone's message, and with each doubt; false if the log cannot be read
// any more.
func (m *cloneMessages) number() (number uint64, known bool) {
	if generation := mappedGeneration(); generation == 0 || generation != m.settled.Load() {
		m.readPending(generation)
	}
	return m.newest.Load() + m.doubts.Load()<<40, !m.isLost.Load() // no log has 2^40 records
}

// readPending reads what the log has got under the kernel's generation, or under any, if that cannot be seen.
func (m *cloneMessages) readPending(generation uint64) {
	before := m.newest.Load()
	log := m.log.Load()
	if log.process != os.Getpid() || !log.isOpen() {
		// The parent may have read a message from the log of both.
		if own := openKernelLog(); own == nil {
			m.isLost.Store(true)
		} else if m.log.CompareAndSwap(log, own) {
			if log.isOpen() {
				unix.Close(log.descriptor)
			}
			m.doubts.Add(1)
		} else {
			unix.Close(own.descriptor)
		}
		return
	}
	if m.receive(log.descriptor) != nil {
		m.isLost.Store(true)
		return
	}
	now := sinceStart()
	if m.awaited.Load() != generation {
		// Stored first: whoever sees the generation must not see the time of the one before.
		m.awaitedSince.Store(now)
		m.awaited.Store(generation)
	}
	if now-m.awaitedSince.Load() > messageGrace || m.newest.Load() != before {
		m.settled.Store(generation)
	}
}

// receive reads all records that have come, without waiting.
func (m *cloneMessages) receive(log int) error {
	const longest = 1024 // longer records are left out
	var record [longest]byte
	for {
		// unix.Read would allocate memory.
		length, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(log), uintptr(unsafe.Pointer(&record)), longest)
		switch {
		case errno == 0 && length == 0, errno == unix.EAGAIN:
			return nil
		case errno == 0:
			m.note(cloneNumber(string(record[:length])))
		case errno == unix.EINTR, errno == unix.EINVAL:
		case errno == unix.EPIPE:
			m.doubts.Add(1) // records were overwritten, and one may have been about a clone
		default:
			return errno
		}
	}
}

// note records the number of a clone's message, if it is the newest.
func (m *cloneMessages) note(number uint64) {
	for newest := m.newest.Load(); number > newest; newest = m.newest.Load() {
		if m.newest.CompareAndSwap(newest, number) {
			return
		}
	}
}

// cloneNumber returns the sequence number of a record plus 1; 0 if it is not the kernel's message about a clone. In
// "5,817,8816751,-;random: …" the first number is the priority plus eight times the facility, which is 0 for the kernel
// alone.
func cloneNumber(record string) uint64 {
	head, text, _ := strings.Cut(record, ";")
	fields := strings.Split(head, ",")
	priority, err := strconv.Atoi(fields[0])
	isKernels := err == nil && priority < 8 && len(fields) > 1
	if !isKernels || !strings.HasPrefix(text, "random: crng reseeded due to virtual machine fork") {
		return 0
	}
	number, err := strconv.ParseUint(fields[1], 10, 63)
	if err != nil {
		return 0
	}
	return number + 1
}

// isKernelLog reports whether a file is the kernel's log: in containers another device can be in its place. A test
// replaces it.
var isKernelLog = func(status *unix.Stat_t) bool {
	return status.Mode&unix.S_IFMT == unix.S_IFCHR && status.Rdev == unix.Mkdev(1, 11)
}

// openKernelLog opens the log; nil if this process may not read it.
func openKernelLog() *kernelLog {
	log, err := unix.Open(logPath, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	opened := &kernelLog{descriptor: log, process: os.Getpid()}
	if !opened.isOpen() {
		unix.Close(log)
		return nil
	}
	_, _ = unix.Seek(log, 0, unix.SEEK_END) // fails for a test's pipe, which is empty
	return opened
}

// isOpen reports whether the descriptor is the log: a program may have closed it, and opened something else.
func (l *kernelLog) isOpen() bool {
	var status unix.Stat_t
	return unix.Fstat(l.descriptor, &status) == nil && isKernelLog(&status)
}
