//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// The clone generation changes with the machine's signal, and with nothing else; the channel receives each change.

// A signal in memory changes the generation at once, and the channel receives it. The control writes the same value.
func TestAChangedPageChangesTheGeneration(t *testing.T) {
	vmclock := vmclockPage(112, hasGeneration, 5, 7)
	for _, c := range []struct {
		name   string
		signal Signal
		path   *string
		page   []byte
		at     int64
		// isPollable makes the device report a change to poll(2), and then fail to be read, as if it was removed.
		isPollable bool
	}{
		{"vmclock", VMClock, &vmClock.path, vmclock, 104, false},
		{"pollable and removed", VMClock, &vmClock.path, vmclock, 104, true},
		{"vmgenid's page", VMGenIDPage, &vmgenidPage.path, pageOfVMGenID(40), 40, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			useTestDevices(t)
			acceptFiles(t)
			page := *c.path + ".page"
			write(t, page, c.page)
			if err := os.Link(page, *c.path); err != nil {
				t.Fatal(err)
			}
			clones := cloneDetectorFor(detectPolicy())
			if signal := clones.Signal(); signal != c.signal {
				t.Fatalf("the signal is %q", signal)
			}
			if c.isPollable {
				if err := os.Remove(*c.path); err != nil {
					t.Fatal(err)
				}
				if err := unix.Mkfifo(*c.path, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if file, _ := clones.openForPoll(); (file != nil) != c.isPollable {
				t.Errorf("the device is pollable: %t", file != nil)
			}
			generations := notify(t, clones)
			before, known := clones.Generation()
			overwrite(t, page, c.at, c.page[c.at])
			if same, _ := clones.Generation(); same != before || !known {
				t.Errorf("without a change: %d, %t; then %d", before, known, same)
			}
			overwrite(t, page, c.at, 100)
			after, _ := clones.Generation()
			if received := <-generations; received != after || after == before {
				t.Errorf("%d, then %d, and the channel received %d", before, after, received)
			}
		})
	}
}

// A new time in kvm-clock's records changes the generation, and the channel receives it: once for each clone, with the
// first CPU that runs. The control is a new version alone, as KVM writes it at intervals.
func TestANewTimeChangesTheGeneration(t *testing.T) {
	useTestDevices(t)
	records := plausibleRecords()
	findKVMClock = func() *kvmClock { return ownKVMClock(t, records) }
	clones := cloneDetectorFor(detectPolicy())
	if signal := clones.Signal(); signal != "kvm-clock" {
		t.Fatalf("the signal is %q", signal)
	}
	before, _ := clones.Generation()
	generations := notify(t, clones)
	atomic.AddUint64(&records[1][0], 2)
	checkChange(t, clones, before, false, "a new version")
	run := func(cpu int) { atomic.StoreUint64(&records[cpu][2], 1<<40) }
	run(1)
	after := checkChange(t, clones, before, true, "a new time")
	run(0)
	checkChange(t, clones, after, false, "the same time of another CPU")
	if received := <-generations; received != after {
		t.Errorf("the channel received %d, and not %d", received, after)
	}
}

// notify returns the channel of new generations. When the test ends, the channel must be closed.
func notify(t *testing.T, clones *CloneDetector) <-chan uint64 {
	t.Helper()
	running, end := context.WithCancel(t.Context())
	generations := clones.Notify(running)
	t.Cleanup(func() {
		end()
		for range generations {
		}
	})
	return generations
}

// The kernel's message about a clone, and what netfilter writes if a rule's prefix has the same words.
const (
	cloneMessage = "random: crng reseeded due to virtual machine fork\n"
	forged       = "random: crng reseeded due to virtual machine forkIN= OUT=lo\n"
)

func TestOnlyTheKernelsMessageCounts(t *testing.T) {
	for record, number := range map[string]uint64{
		"5,817,8816751,-;" + cloneMessage:                         818,
		"5,817,8816751,-,caller=T1;" + cloneMessage + " A=B":      818,
		"13,817,8816751,-;" + cloneMessage:                        0,
		"5,817,8816751,-;audit: " + cloneMessage:                  0,
		"5,817,8816751,-;random: crng init done\n":                0,
		"5,817,1,-;" + strings.TrimSuffix(cloneMessage, "\n"):     0,
		"4,817,1,-;" + forged:                                     0,
		"4,817,1,-;" + strings.Replace(forged, "IN", " IN", 1):    0,
		"4,817,1,-;" + strings.Replace(forged, "IN", `\x0aIN`, 1): 0,
		"5;" + cloneMessage:                                       0,
		"x,817,1,-;" + cloneMessage:                               0,
		"5,x,1,-;" + cloneMessage:                                 0,
		cloneMessage:                                              0,
		"":                                                        0,
	} {
		if got := numberOfCloneMessage(record); got != number {
			t.Errorf("%q: %d", record, got)
		}
	}
}

// testLog stands for the kernel's log: a FIFO, of which each read returns one record.
type testLog struct {
	t      *testing.T
	pipe   *os.File
	number int
}

// useTestLog makes a test log the only signal. The kernel's generation is a variable, which reseed changes.
func useTestLog(t *testing.T) (clones *CloneDetector, log *testLog, reseed func()) {
	t.Helper()
	ownGeneration(t)
	useTestDevices(t)
	vmgenidDrivers[0] = t.TempDir()
	write(t, filepath.Join(vmgenidDrivers[0], "VMGENCTR:00"), nil)
	checkUnknown(t, cloneDetectorFor(detectPolicy())) // the control: a pipe that is not accepted
	usual := isKernelLog
	t.Cleanup(func() { isKernelLog = usual })
	isKernelLog = func(*unix.Stat_t) bool { return true }
	if err := unix.Mkfifo(logPath, 0o600); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(logPath, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pipe.Close() })
	if _, err := unix.FcntlInt(pipe.Fd(), unix.F_SETFL, unix.O_DIRECT); err != nil {
		t.Fatal(err)
	}
	if clones = cloneDetectorFor(detectPolicy()); clones.Signal() != "kernel-log" {
		t.Fatalf("the signal is %q", clones.Signal())
	}
	word := generationAddress.Load()
	return clones, &testLog{t, pipe, 800}, func() { atomic.AddUint64(word, 1) }
}

// write writes the message with a priority. One below 8 stands for the kernel.
func (l *testLog) write(priority int) {
	l.t.Helper()
	l.number++
	if _, err := fmt.Fprintf(l.pipe, "%d,%d,1,-;%s", priority, l.number, cloneMessage); err != nil {
		l.t.Fatal(err)
	}
}

// checkChange returns the generation, and fails unless it has changed or stayed the same, as expected.
func checkChange(t *testing.T, clones *CloneDetector, last uint64, isExpected bool, what string) uint64 {
	t.Helper()
	now, known := clones.Generation()
	if (now != last) != isExpected || !known {
		t.Fatalf("%s: %d, then %d; known: %t", what, last, now, known)
	}
	return now
}

// The kernel's message changes the generation at the first request after it. The control is a program's message, also
// after a reseed.
func TestTheKernelsMessageChangesTheGeneration(t *testing.T) {
	clones, log, reseed := useTestLog(t)
	last, _ := clones.Generation()
	for range 3 {
		reseed()
		last = checkChange(t, clones, last, false, "a reseed")
		log.write(13)
		last = checkChange(t, clones, last, false, "a program's message")
		reseed()
		log.write(5)
		last = checkChange(t, clones, last, true, "the kernel's")
	}
}

// The channel receives the generation when the log has a message.
func TestAMessageIsSentToTheChannel(t *testing.T) {
	clones, log, reseed := useTestLog(t)
	before, _ := clones.Generation()
	generations := notify(t, clones)
	reseed()
	log.write(5)
	if received := <-generations; received == before {
		t.Errorf("the channel received %d again", received)
	}
}

// A message counts that comes within a second after a reseed. Later the log is not read, unless the kernel's generation
// is unknown.
func TestAMessageMayBeLate(t *testing.T) {
	clones, log, reseed := useTestLog(t)
	usual, now := sinceStart, int64(0)
	defer func() { sinceStart = usual }()
	sinceStart = func() int64 { return now }
	last, _ := clones.Generation()

	reseed()
	last = checkChange(t, clones, last, false, "a reseed")
	now += messageDelay
	log.write(5)
	last = checkChange(t, clones, last, true, "a message within the second")

	reseed()
	last = checkChange(t, clones, last, false, "another reseed")
	now += messageDelay + 1
	last = checkChange(t, clones, last, false, "after the second")
	log.write(5)
	last = checkChange(t, clones, last, false, "a message without a reseed")
	reseed()
	last = checkChange(t, clones, last, true, "the reseed after it")

	setWatch(Probe, nil)
	for range 2 {
		last = checkChange(t, clones, last, false, "without a known generation")
		log.write(5)
		last = checkChange(t, clones, last, true, "a message then")
	}
}

// A forked child's generation changes at the next reseed, because its parent may have read a message, and then with
// messages that the child reads itself. If the child may not read the log, its generation is unknown. The control is
// TestTheKernelsMessageChangesTheGeneration, where a reseed changes nothing.
func TestAChildOpensTheLogItself(t *testing.T) {
	clones, log, reseed := useTestLog(t)
	last, _ := clones.Generation()
	log.write(5)
	reseed()
	last = checkChange(t, clones, last, true, "a message")
	clones.messages.log.Load().process-- // as it is in a child
	reseed()
	last = checkChange(t, clones, last, true, "in the child")
	last = checkChange(t, clones, last, false, "in the child, again")
	log.write(5)
	checkChange(t, clones, last, true, "a message in the child")
	isKernelLog = func(*unix.Stat_t) bool { return false } // as if the descriptor was closed
	path := logPath
	logPath = "/dev/null/none"
	last, _ = clones.Generation()
	reseed()
	if generation, known := clones.Generation(); known || generation != 0 {
		t.Error("a child that may not read the log says that there was no clone")
	}
	logPath = path
	isKernelLog = func(*unix.Stat_t) bool { return true }
	clones.messages.log.Load().process--
	reseed()
	checkChange(t, clones, last, true, "the log can be read again")
}

// The generation is unknown if nothing shows clones, or nothing that this process may read. The controls are the tests
// with a signal.
func TestWithoutASignalClonesAreUnknown(t *testing.T) {
	useTestDevices(t)
	hypervisorAnnounced = func() bool { return true }
	checkUnknown(t, cloneDetectorFor(detectPolicy()))
	// A vmgenid, but another device in the place of the kernel's log.
	vmgenidDrivers[1] = t.TempDir()
	write(t, filepath.Join(vmgenidDrivers[1], "VMGENCTR:00"), nil)
	logPath = "/dev/null"
	checkUnknown(t, cloneDetectorFor(detectPolicy()))
	// The page of a vmclock that does not count.
	acceptFiles(t)
	write(t, vmClock.path, vmclockPage(104, 0, 5, 7))
	checkUnknown(t, cloneDetectorFor(detectPolicy()))
}

func checkUnknown(t *testing.T, clones *CloneDetector) {
	t.Helper()
	if generation, known := clones.Generation(); known || clones.Signal() != "" {
		t.Errorf("%q has generation %d, known: %t", clones.Signal(), generation, known)
	}
}
