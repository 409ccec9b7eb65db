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

// The clone generation by the kernel's log, where the kernel reports that this VM was cloned.
//
// After vmgenid's interrupt, Linux reseeds its RNG and then writes the message to its log (add_vmfork_randomness in
// drivers/char/random.c; 5.18). So a request only compares the kernel's generation, and reads the log if that has
// changed. /dev/kmsg returns one record for each read, with a sequence number. That of the newest message about a clone
// is the clone generation. Programs cannot write records in the kernel's name, but some of the kernel's records begin
// with their words: netfilter's with a rule's prefix. So the whole text is compared.

// cloneMessages is what this process has read in the kernel's log about clones.
type cloneMessages struct {
	// newestMessage is the sequence number, plus 1, of the newest message about a clone; 0 if none came.
	newestMessage atomic.Uint64
	// possibleMisses is how often this process may have missed a message.
	possibleMisses atomic.Uint64
	// isUnreadable is set if this process could not read the log when it last tried.
	isUnreadable atomic.Bool
	// settledGeneration is the generation of the kernel's RNG for which no more messages can come.
	settledGeneration atomic.Uint64
	// awaitedGeneration is the generation of the kernel's RNG for which a message may still come, and awaitedSince is
	// when it was first seen, or later.
	awaitedGeneration atomic.Uint64
	awaitedSince      atomic.Int64

	log atomic.Pointer[kernelLog]
}

// kernelLog is the kernel's log, open at its end.
type kernelLog struct {
	descriptor int
	// process is the one that opened the log. A forked child shares its parent's position in the log.
	process int
}

// logPath is where the kernel's log is; a test replaces it.
var logPath = "/dev/kmsg"

// messageDelay is how long after a reseed its message may come, in nanoseconds. The kernel writes it right after the
// reseed.
const messageDelay = int64(time.Second)

var processStart = time.Now()

// sinceStart returns a time in nanoseconds; a test replaces it.
var sinceStart = func() int64 { return int64(time.Since(processStart)) }

// number returns a number that changes with each message about a clone, and when one may have been missed; 0 and false
// as long as this process cannot read the log.
func (m *cloneMessages) number() (number uint64, known bool) {
	if generation := mappedGeneration(); generation == 0 || generation != m.settledGeneration.Load() {
		m.readPending(generation)
	}
	if m.isUnreadable.Load() {
		return 0, false
	}
	return m.count(), true
}

// count returns the same by what was read until now, never 0.
func (m *cloneMessages) count() uint64 {
	return 1 + m.newestMessage.Load() + m.possibleMisses.Load()<<40 // no log has 2^40 records
}

// readPending reads the messages that have come. The generation is the kernel's, or 0 if the kernel does not show it. A
// process that cannot read the log tries again when the kernel's generation has changed.
func (m *cloneMessages) readPending(generation uint64) {
	before := m.newestMessage.Load()
	log := m.log.Load()
	if log.process != os.Getpid() || !log.isOpen() {
		// The parent may have read a message that this process has not.
		if own := openKernelLog(); own == nil {
			m.isUnreadable.Store(true)
			m.settledGeneration.Store(generation)
		} else if m.log.CompareAndSwap(log, own) {
			// The old descriptor stays open: its number may be somebody else's by now.
			m.possibleMisses.Add(1)
			m.isUnreadable.Store(false)
		} else {
			unix.Close(own.descriptor)
		}
		return
	}
	if m.receive(log.descriptor) != nil {
		m.isUnreadable.Store(true)
		m.settledGeneration.Store(generation)
		return
	}
	m.isUnreadable.Store(false)
	now := sinceStart()
	if m.awaitedGeneration.Load() != generation {
		// The time is stored first: a goroutine that reads the generation then reads its time, or a later one.
		m.awaitedSince.Store(now)
		m.awaitedGeneration.Store(generation)
	}
	if now-m.awaitedSince.Load() > messageDelay || m.newestMessage.Load() != before {
		m.settledGeneration.Store(generation)
	}
}

// catchUp reads what number would read at the kernel's next reseed, before it is overwritten.
func (m *cloneMessages) catchUp() {
	if log := m.log.Load(); log != nil && log.process == os.Getpid() && log.isOpen() {
		_ = m.receive(log.descriptor)
	}
}

// receive reads all records that have come, without waiting.
func (m *cloneMessages) receive(log int) error {
	const longest = 1024 // messages about clones are shorter; the kernel skips a record that does not fit
	var record [longest]byte
	for {
		// unix.Read would allocate memory.
		length, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(log), uintptr(unsafe.Pointer(&record)), longest)
		switch {
		case errno == 0 && length == 0, errno == unix.EAGAIN:
			return nil
		case errno == 0:
			m.keepNewest(numberOfCloneMessage(string(record[:length])))
		case errno == unix.EINTR, errno == unix.EINVAL:
		case errno == unix.EPIPE:
			m.possibleMisses.Add(1) // the kernel has overwritten records, of which one may have been about a clone
		default:
			return errno
		}
	}
}

// keepNewest stores the number of a message about a clone, unless a newer one is stored.
func (m *cloneMessages) keepNewest(number uint64) {
	for newestMessage := m.newestMessage.Load(); number > newestMessage; newestMessage = m.newestMessage.Load() {
		if m.newestMessage.CompareAndSwap(newestMessage, number) {
			return
		}
	}
}

// numberOfCloneMessage returns the sequence number of a record plus 1; 0 if it is not the kernel's message about a
// clone. For "5,817,8816751,-;random: …" it is 818. The first number is the priority, plus eight times the facility,
// which is 0 for the kernel alone.
func numberOfCloneMessage(record string) uint64 {
	head, text, _ := strings.Cut(record, ";")
	text, _, isWhole := strings.Cut(text, "\n") // properties may follow; a newline within the text arrives as \x0a
	fields := strings.Split(head, ",")
	priority, err := strconv.Atoi(fields[0])
	isKernels := err == nil && priority < 8 && len(fields) > 1
	if !isKernels || !isWhole || text != "random: crng reseeded due to virtual machine fork" {
		return 0
	}
	number, err := strconv.ParseUint(fields[1], 10, 63)
	if err != nil {
		return 0
	}
	return number + 1
}

// isKernelLog reports whether a file is the kernel's log. In containers, /dev/kmsg can be another device. A test
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
	_, _ = unix.Seek(log, 0, unix.SEEK_END) // fails for the FIFO of a test, which is empty
	return opened
}

// isOpen reports whether the descriptor is the log. A program may have closed it, and opened something else.
func (l *kernelLog) isOpen() bool {
	var status unix.Stat_t
	return unix.Fstat(l.descriptor, &status) == nil && isKernelLog(&status)
}
