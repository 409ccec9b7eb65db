//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
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

// The kernel's message about a clone.
const cloned = "random: crng reseeded due to virtual machine fork\n"

func TestOnlyTheKernelsMessageIsAClone(t *testing.T) {
	for record, number := range map[string]uint64{
		"5,817,8816751,-;" + cloned:                    818,
		"5,817,8816751,-,caller=T1;" + cloned + " A=B": 818,
		"13,817,8816751,-;" + cloned:                   0,
		"5,817,8816751,-;audit: " + cloned:             0,
		"5,817,8816751,-;random: crng init done\n":     0,
		"5;" + cloned:         0,
		"x,817,1,-;" + cloned: 0,
		"5,x,1,-;" + cloned:   0,
		cloned:                0,
		"":                    0,
	} {
		if got := cloneNumber(record); got != number {
			t.Errorf("%q: %d", record, got)
		}
	}
}

// testLog imitates the kernel's log: a pipe that keeps records apart.
type testLog struct {
	t      *testing.T
	pipe   *os.File
	number int
}

// useTestLog makes it the only signal. The kernel's generation is a word of the test's, which reseed changes.
func useTestLog(t *testing.T) (clones *Clones, log *testLog, reseed func()) {
	t.Helper()
	ownGeneration(t)
	useTestDevices(t)
	vmgenidDrivers[0] = t.TempDir()
	write(t, filepath.Join(vmgenidDrivers[0], "VMGENCTR:00"), nil)
	isUnknown(t, newClones(detectPolicy())) // the control: a pipe that is not accepted
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
	if clones = newClones(detectPolicy()); clones.Signal() != "kernel-log" {
		t.Fatalf("the signal is %q", clones.Signal())
	}
	word := generationAddress.Load()
	return clones, &testLog{t, pipe, 800}, func() { atomic.AddUint64(word, 1) }
}

// write writes the message with a priority: below 8 as the kernel.
func (l *testLog) write(priority int) {
	l.t.Helper()
	l.number++
	if _, err := fmt.Fprintf(l.pipe, "%d,%d,1,-;%s", priority, l.number, cloned); err != nil {
		l.t.Fatal(err)
	}
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

// The kernel's message changes the generation, in the first request after it, and the channel gets it. The control is a
// message of a program, behind a reseed too.
func TestTheKernelsMessageIsAnotherGeneration(t *testing.T) {
	clones, log, reseed := useTestLog(t)
	last, _ := clones.Generation()
	for range 3 {
		reseed()
		last = differs(t, clones, last, false, "a reseed")
		log.write(13)
		last = differs(t, clones, last, false, "a program's message")
		reseed()
		log.write(5)
		last = differs(t, clones, last, true, "the kernel's")
	}
}

// The channel gets the generation when the log has a message.
func TestTheLogWakesUp(t *testing.T) {
	clones, log, reseed := useTestLog(t)
	before, _ := clones.Generation()
	news := notify(t, clones)
	reseed()
	log.write(5)
	if told := <-news; told == before {
		t.Errorf("the channel got %d again", told)
	}
}

// A message is awaited for a second after a reseed, and later the log is not read; always if the kernel's generation is
// unknown.
func TestAMessageMayBeLate(t *testing.T) {
	clones, log, reseed := useTestLog(t)
	usual, now := sinceStart, int64(0)
	defer func() { sinceStart = usual }()
	sinceStart = func() int64 { return now }
	last, _ := clones.Generation()

	reseed()
	last = differs(t, clones, last, false, "a reseed")
	now += messageGrace
	log.write(5)
	last = differs(t, clones, last, true, "a message within the grace")

	reseed()
	last = differs(t, clones, last, false, "another reseed")
	now += messageGrace + 1
	last = differs(t, clones, last, false, "after the grace")
	log.write(5)
	last = differs(t, clones, last, false, "a message without a reseed")
	reseed()
	last = differs(t, clones, last, true, "the reseed after it")

	setWatch(Probe, nil)
	for range 2 {
		last = differs(t, clones, last, false, "without a known generation")
		log.write(5)
		last = differs(t, clones, last, true, "a message then")
	}
}

// A forked child's generation changes at the next reseed, because its parent may have read a message, and then with its
// own messages. If it may not read the log, the generation becomes unknown. The control is
// TestTheKernelsMessageIsAnotherGeneration, where a reseed changes nothing.
func TestAChildOpensTheLogItself(t *testing.T) {
	clones, log, reseed := useTestLog(t)
	last, _ := clones.Generation()
	log.write(5)
	reseed()
	last = differs(t, clones, last, true, "a message")
	clones.messages.log.Load().process-- // as it is in a child
	reseed()
	last = differs(t, clones, last, true, "in the child")
	last = differs(t, clones, last, false, "in the child, again")
	log.write(5)
	differs(t, clones, last, true, "a message in the child")
	isKernelLog = func(*unix.Stat_t) bool { return false } // as if the descriptor was closed
	logPath = "/dev/null/none"
	reseed()
	if _, known := clones.Generation(); known {
		t.Error("a child that may not read the log says that there was no clone")
	}
}

// A program cannot write the message in the kernel's name.
func TestAForgedMessageDoesNotCount(t *testing.T) {
	forger, err := os.OpenFile("/dev/kmsg", os.O_WRONLY, 0)
	if err != nil {
		t.Skipf("the kernel's log cannot be written: %v", err)
	}
	defer forger.Close()
	log := openKernelLog()
	if log == nil {
		t.Skip("the kernel's log cannot be read")
	}
	defer unix.Close(log.descriptor)
	if _, err := forger.WriteString("<5>" + cloned); err != nil {
		t.Fatal(err)
	}
	var messages cloneMessages
	if err := messages.receive(log.descriptor); err != nil {
		t.Fatal(err)
	}
	if number := messages.newest.Load(); number != 0 {
		t.Errorf("it counts as number %d", number)
	}
}

// Where nothing shows clones, or this process may not see it, that is said, not denied. The controls are those in which
// there are signals.
func TestWithoutASignalClonesAreUnknown(t *testing.T) {
	useTestDevices(t)
	isUnknown(t, newClones(detectPolicy()))
	// A vmgenid, but another device in the place of the kernel's log.
	vmgenidDrivers[1] = t.TempDir()
	write(t, filepath.Join(vmgenidDrivers[1], "VMGENCTR:00"), nil)
	logPath = "/dev/null"
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
