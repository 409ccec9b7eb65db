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

// The events that the kernel's vmgenid driver sends when this VM was cloned, and the number of the newest.
//
// drivers/virt/vmgenid.c sends NEW_VMGENID=1 (Linux 6.10) after it has reseeded the kernel's RNG. So nothing is read as
// long as the kernel's generation stays the same. Each event has a sequence number of the kernel, which all sockets
// receive: that of the newest clone's event stands for the generation of the machine. Only messages of the kernel count:
// those of other senders have a port id, which they cannot forge.

// cloneEvents is what this process knows of clones by events.
type cloneEvents struct {
	// newest is the number of the newest clone's event; 0 if none came.
	newest atomic.Uint64
	// settled is the generation of the kernel's RNG under which no event is awaited any more.
	settled atomic.Uint64
	// awaited is the generation that an event may belong to, and awaitedSince is when it was first seen, or later.
	awaited      atomic.Uint64
	awaitedSince atomic.Int64

	socket atomic.Pointer[eventSocket]
}

// eventSocket is a netlink socket that receives the kernel's events.
type eventSocket struct {
	descriptor int
	// process is the one that opened it: a forked child has the same socket.
	process int
}

// eventGrace is how long after a reseed an event may come, in nanoseconds: the driver sends it right after.
const eventGrace = int64(time.Second)

var processStart = time.Now()

// sinceStart returns a time in nanoseconds; a test replaces it.
var sinceStart = func() int64 { return int64(time.Since(processStart)) }

// number returns the number of the newest clone's event.
func (e *cloneEvents) number() uint64 {
	if generation := mappedGeneration(); generation == 0 || generation != e.settled.Load() {
		e.readPending(generation)
	}
	return e.newest.Load()
}

// readPending reads what the socket has received under the kernel's generation, or under any, if that cannot be seen.
func (e *cloneEvents) readPending(generation uint64) {
	before := e.newest.Load()
	socket := e.socket.Load()
	if socket.process != os.Getpid() {
		// The parent may have read an event from the socket of both.
		if own := openEventSocket(); own != nil && e.socket.CompareAndSwap(socket, own) {
			e.newest.Add(1)
		}
		return
	}
	_ = e.receive(socket.descriptor)
	now := sinceStart()
	if e.awaited.Load() != generation {
		// Stored first: whoever sees the generation must not see the time of the one before.
		e.awaitedSince.Store(now)
		e.awaited.Store(generation)
	}
	if now-e.awaitedSince.Load() > eventGrace || e.newest.Load() != before {
		e.settled.Store(generation)
	}
}

// receive reads all messages that have come to a socket, without waiting.
func (e *cloneEvents) receive(socket int) error {
	const longest = 4096 // more than UEVENT_BUFFER_SIZE (include/linux/kobject.h)
	var message [longest]byte
	for {
		var sender unix.RawSockaddrNetlink
		senderLen := uint32(unix.SizeofSockaddrNetlink)
		// unix.Recvfrom would allocate memory.
		length, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(socket), uintptr(unsafe.Pointer(&message)), longest,
			unix.MSG_DONTWAIT, uintptr(unsafe.Pointer(&sender)), uintptr(unsafe.Pointer(&senderLen)))
		switch errno {
		case 0:
			if sender.Pid == 0 {
				e.note(cloneNumber(string(message[:length])))
			}
		case unix.EAGAIN:
			return nil
		case unix.EINTR:
		case unix.ENOBUFS:
			e.newest.Add(1) // messages were lost, and one may have been about a clone
		default:
			return errno
		}
	}
}

// note records the number of a clone's event, if it is the newest.
func (e *cloneEvents) note(number uint64) {
	for newest := e.newest.Load(); number > newest; newest = e.newest.Load() {
		if e.newest.CompareAndSwap(newest, number) {
			return
		}
	}
}

// cloneNumber returns the sequence number of a message, which is at least 1; 0 if it is not about a clone. Users can
// trigger events through sysfs, but the kernel puts SYNTH_ARG_ before their content.
func cloneNumber(message string) uint64 {
	if !strings.HasPrefix(message, "change@") || !strings.Contains(message, "\x00NEW_VMGENID=1\x00") {
		return 0
	}
	_, rest, _ := strings.Cut(message, "\x00SEQNUM=")
	digits, _, _ := strings.Cut(rest, "\x00")
	number, _ := strconv.ParseUint(digits, 10, 64)
	return number
}

// openEventSocket opens a socket for the kernel's events; nil if the vmgenid driver sends none, or not to this process.
func openEventSocket() *eventSocket {
	const kernelGroup = 1
	// As a platform driver, which it is since Linux 6.10, it sends events.
	if !hasDevice(vmgenidDrivers[0]) || !receivesEvents() {
		return nil
	}
	flags := unix.SOCK_DGRAM | unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK
	socket, err := unix.Socket(unix.AF_NETLINK, flags, unix.NETLINK_KOBJECT_UEVENT)
	if err != nil {
		return nil
	}
	if unix.Bind(socket, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: kernelGroup}) != nil {
		unix.Close(socket)
		return nil
	}
	return &eventSocket{descriptor: socket, process: os.Getpid()}
}

// receivesEvents reports whether the kernel's events reach this thread: its network namespace belongs to the first user
// namespace (lib/kobject_uevent.c).
func receivesEvents() bool {
	const first = 0xEFFF_FFFD // PROC_USER_INIT_INO (include/linux/proc_ns.h)
	network, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer unix.Close(network)
	owner, err := unix.IoctlRetInt(network, unix.NS_GET_USERNS)
	if err != nil {
		return false
	}
	defer unix.Close(owner)
	var status unix.Stat_t
	return unix.Fstat(owner, &status) == nil && status.Ino == first
}
