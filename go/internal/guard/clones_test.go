//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"context"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The clone generation and its channel change with the machine's signal, and with nothing else.

// A signal in memory changes the generation at once, and the channel gets it. The control is a page that was written
// without a change.
func TestAChangedPageIsAnotherGeneration(t *testing.T) {
	vmclock := vmclockPage(112, hasGeneration, 5, 7)
	for _, c := range []struct {
		name, signal string
		path         *string
		page         []byte
		at           int64
		// isPolled makes the device one that reports changes to poll(2), and then cannot be read, as if it was removed.
		isPolled bool
	}{
		{"vmclock", "vmclock", &vmClock.path, vmclock, 104, false},
		{"polled and removed", "vmclock", &vmClock.path, vmclock, 104, true},
		{"vmgenid's page", "vmgenid-page", &vmgenidPage.path, pageOfVMGenID(40), 40, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			useTestDevices(t)
			acceptFiles(t)
			page := *c.path + ".page"
			write(t, page, c.page)
			if err := os.Link(page, *c.path); err != nil {
				t.Fatal(err)
			}
			clones := newClones(detectPolicy())
			if signal := clones.Signal(); signal != c.signal {
				t.Fatalf("the signal is %q", signal)
			}
			if c.isPolled {
				if err := os.Remove(*c.path); err != nil {
					t.Fatal(err)
				}
				if err := unix.Mkfifo(*c.path, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if file, _ := clones.openToWait(); (file != nil) != c.isPolled {
				t.Errorf("it can be waited for: %t", file != nil)
			}
			news := notify(t, clones)
			before, known := clones.Generation()
			overwrite(t, page, c.at, c.page[c.at])
			if same, _ := clones.Generation(); same != before || !known {
				t.Errorf("without a change: %d, %t; then %d", before, known, same)
			}
			overwrite(t, page, c.at, 100)
			after, _ := clones.Generation()
			if told := <-news; told != after || after == before {
				t.Errorf("%d, then %d, and the channel got %d", before, after, told)
			}
		})
	}
}

// notify returns the channel of new generations, which must be closed when its context ends.
func notify(t *testing.T, clones *Clones) <-chan uint64 {
	t.Helper()
	running, end := context.WithCancel(t.Context())
	news := clones.Notify(running)
	t.Cleanup(func() {
		end()
		for range news {
		}
	})
	return news
}

// The vmgenid driver's message, without the kernel's sequence number, and what a user's write to sysfs makes the kernel
// send.
const (
	cloned    = "change@/devices/platform/VMGENCTR:00\x00ACTION=change\x00NEW_VMGENID=1\x00"
	synthetic = "change@/devices/x\x00ACTION=change\x00SYNTH_ARG_NEW_VMGENID=1\x00"
)

func TestOnlyTheDriversMessageIsAClone(t *testing.T) {
	for message, number := range map[string]uint64{
		cloned + "DRIVER=vmgenid\x00SEQNUM=817\x00": 817,
		cloned:                                0,
		synthetic + "SEQNUM=1\x00":            0,
		"":                                    0,
		"\x00":                                0,
		"NEW_VMGENID=1\x00SEQNUM=1":           0,
		"add@/x\x00NEW_VMGENID=1\x00SEQNUM=1": 0,
		"change@/x\x00NEW_VMGENID=10\x00SEQNUM=1":          0,
		"libudev\x00\xfe\xed\x00NEW_VMGENID=1\x00SEQNUM=1": 0,
	} {
		if got := cloneNumber(message); got != number {
			t.Errorf("%q: %d", message, got)
		}
	}
}

// useEventsOnly makes a vmgenid of the platform driver the only signal.
func useEventsOnly(t *testing.T) *Clones {
	t.Helper()
	useTestDevices(t)
	vmgenidDrivers[0] = t.TempDir()
	write(t, filepath.Join(vmgenidDrivers[0], "VMGENCTR:00"), nil)
	return newClones(detectPolicy())
}

// useOwnNetwork gives the test a thread with a network namespace of its own, in which only the test sends events. The
// kernel's generation is a word of the test's, which reseed changes.
func useOwnNetwork(t *testing.T) (clones *Clones, reseed func()) {
	t.Helper()
	runtime.LockOSThread() // never unlocked: the thread ends with the test
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		t.Skipf("a network namespace takes CAP_SYS_ADMIN: %v", err)
	}
	if namespace, err := os.Readlink("/proc/self/ns/user"); namespace != "user:[4026531837]" {
		t.Skipf("the kernel's events reach only the first user namespace, not %s: %v", namespace, err)
	}
	ownGeneration(t)
	if clones = useEventsOnly(t); clones.Signal() != "vmgenid-event" {
		t.Fatalf("the signal is %q", clones.Signal())
	}
	word := generationAddress.Load()
	return clones, func() { atomic.AddUint64(word, 1) }
}

// send sends a netlink message to the kernel, or to these groups.
func send(t *testing.T, groups uint32, message []byte) {
	t.Helper()
	socket, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM, unix.NETLINK_KOBJECT_UEVENT)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(socket)
	if err := unix.Sendto(socket, message, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: groups}); err != nil {
		t.Fatal(err)
	}
}

// sendFromKernel makes the kernel send a message to this network namespace (Linux 4.18): receivers see it as the
// kernel's own.
func sendFromKernel(t *testing.T, message string) {
	t.Helper()
	packet := binary.NativeEndian.AppendUint32(nil, uint32(unix.SizeofNlMsghdr+len(message)))
	packet = binary.NativeEndian.AppendUint16(packet, 0x10) // NLMSG_MIN_TYPE
	packet = binary.NativeEndian.AppendUint16(packet, unix.NLM_F_REQUEST)
	packet = append(packet, make([]byte, 8)...) // a number and a sender
	send(t, 0, append(packet, message...))
}

// differs fails unless the generation differs from the last one, or is the same, as expected; and returns it.
func differs(t *testing.T, clones *Clones, last uint64, isExpected bool, what string) uint64 {
	t.Helper()
	now, known := clones.Generation()
	if (now != last) != isExpected || !known {
		t.Fatalf("%s: %d, then %d; known: %t", what, last, now, known)
	}
	return now
}

// The driver's event changes the generation, in the first request after it, and the channel gets it. The controls are
// messages that are not the driver's, behind a reseed too.
func TestADriversEventIsAnotherGeneration(t *testing.T) {
	clones, reseed := useOwnNetwork(t)
	news := notify(t, clones)
	last, _ := clones.Generation()
	for range 3 {
		reseed()
		last = differs(t, clones, last, false, "a reseed")
		sendFromKernel(t, synthetic)
		send(t, 1, []byte(cloned+"SEQNUM=1000000000\x00"))
		last = differs(t, clones, last, false, "a synthetic and a forged message")
		reseed()
		sendFromKernel(t, cloned)
		last = differs(t, clones, last, true, "the driver's")
		if told := <-news; told != last {
			t.Errorf("the channel got %d, not %d", told, last)
		}
	}
}

// An event is awaited for a second after a reseed, and later the socket is not read; always if the kernel's generation
// is unknown.
func TestAnEventMayBeLate(t *testing.T) {
	clones, reseed := useOwnNetwork(t)
	usual, now := sinceStart, int64(0)
	defer func() { sinceStart = usual }()
	sinceStart = func() int64 { return now }
	last, _ := clones.Generation()

	reseed()
	last = differs(t, clones, last, false, "a reseed")
	now += eventGrace
	sendFromKernel(t, cloned)
	last = differs(t, clones, last, true, "an event within the grace")

	reseed()
	last = differs(t, clones, last, false, "another reseed")
	now += eventGrace + 1
	last = differs(t, clones, last, false, "after the grace")
	sendFromKernel(t, cloned)
	last = differs(t, clones, last, false, "an event without a reseed")
	reseed()
	last = differs(t, clones, last, true, "the reseed after it")

	setWatch(Probe, nil)
	for range 2 {
		last = differs(t, clones, last, false, "without a known generation")
		sendFromKernel(t, cloned)
		last = differs(t, clones, last, true, "an event then")
	}
}

// A forked child's generation changes at the next reseed, because its parent may have read an event, and then with its
// own events. The control is TestADriversEventIsAnotherGeneration, where a reseed changes nothing.
func TestAChildHasASocketOfItsOwn(t *testing.T) {
	clones, reseed := useOwnNetwork(t)
	last, _ := clones.Generation()
	clones.events.socket.Load().process-- // as it is in a child
	reseed()
	last = differs(t, clones, last, true, "in the child")
	last = differs(t, clones, last, false, "in the child, again")
	sendFromKernel(t, cloned)
	differs(t, clones, last, true, "an event in the child")
}

// If so many messages came that the kernel dropped some, one may have been about a clone.
func TestLostMessagesMayBeClones(t *testing.T) {
	clones, reseed := useOwnNetwork(t)
	last, _ := clones.Generation()
	for range 2000 {
		sendFromKernel(t, synthetic)
	}
	reseed()
	differs(t, clones, last, true, "after more messages than a socket holds")
}

// Where nothing shows clones, or this process may not see it, that is said, not denied. The controls are those in which
// there are signals.
func TestWithoutASignalClonesAreUnknown(t *testing.T) {
	useTestDevices(t)
	isUnknown(t, newClones(detectPolicy()))
	// An ACPI driver sends no events.
	vmgenidDrivers[1] = t.TempDir()
	write(t, filepath.Join(vmgenidDrivers[1], "VMGENCTR:00"), nil)
	isUnknown(t, newClones(detectPolicy()))
	// The page of a vmclock that does not count.
	acceptFiles(t)
	write(t, vmClock.path, vmclockPage(104, 0, 5, 7))
	isUnknown(t, newClones(detectPolicy()))
}

func isUnknown(t *testing.T, clones *Clones) {
	t.Helper()
	if generation, known := clones.Generation(); known || clones.Signal() != "" {
		t.Errorf("%q has generation %d, known: %t", clones.Signal(), generation, known)
	}
}

// Network namespaces of another user namespace get no events of devices.
func TestAnotherUserNamespaceKnowsNothing(t *testing.T) {
	const inside = "SQUALL_IN_USER_NAMESPACE"
	if os.Getenv(inside) != "" {
		isUnknown(t, useEventsOnly(t))
		return
	}
	if useEventsOnly(t).Signal() == "" {
		t.Skip("this process gets no events either")
	}
	command := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	command.Env = append(os.Environ(), inside+"=1")
	identity := []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNET, UidMappings: identity}
	if output, err := command.CombinedOutput(); command.ProcessState == nil {
		t.Skipf("no user namespace: %v", err)
	} else if err != nil {
		t.Errorf("%v: %s", err, output)
	}
}
