//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// CloneDetector notices clones of this machine, by an immediate signal or else by the kernel's log, and restores of this
// process. Where nothing shows clones of the machine, it must say that they are unknown, never that there was none.
type CloneDetector struct {
	policy  *Policy
	process restores
	// messages is nil if there is an immediate signal, or if this process may not read the kernel's log.
	messages *cloneMessages
}

// NewCloneDetector looks for the machine's signals. Draw from squall before, so that it finds the kernel's generation:
// otherwise each call of Generation reads the kernel's log, if that is the signal.
func NewCloneDetector() *CloneDetector {
	policy := Decide()
	policy.WaitUntilSettled()
	return cloneDetectorFor(policy)
}

func cloneDetectorFor(policy *Policy) *CloneDetector {
	detector := &CloneDetector{policy: policy}
	if policy.HasVMGenID() && !policy.HasImmediateSignal() {
		if log := openKernelLog(); log != nil {
			detector.messages = new(cloneMessages)
			detector.messages.log.Store(log)
		}
	}
	return detector
}

// Signal returns the signal; [NoSignal] if there is none.
func (d *CloneDetector) Signal() Signal {
	switch {
	case d.policy.HasImmediateSignal():
		return d.policy.immediateSignal()
	case d.messages != nil:
		return KernelLog
	case !d.policy.IsVM && d.process.isKnown():
		return Process
	default:
		return NoSignal
	}
}

// Generation returns a number that changes when this process may be running in a clone of its machine, or was itself
// restored; false if that is unknown.
func (d *CloneDetector) Generation() (generation uint64, known bool) {
	switch {
	case d.policy.HasImmediateSignal():
		generation, known = d.policy.cloneGeneration(), true
	case d.messages != nil:
		generation, known = d.messages.number()
	default:
		known = d.Signal() != NoSignal
	}
	if known {
		generation += d.process.number()
	}
	return generation, known
}

// newest returns the generation for a channel, which has a descriptor of the kernel's log of its own. So it knows of
// clones even if Generation can no longer be told.
func (d *CloneDetector) newest() uint64 {
	generation, _ := d.Generation()
	if d.messages != nil {
		d.messages.catchUp()
		generation = d.messages.count() + d.process.number()
	}
	return generation
}

// pollInterval is how often a channel's goroutine looks by itself: nothing reports that the process was restored, or that
// kvm-clock changed.
const pollInterval = 100 * time.Millisecond

// Notify returns a channel that gets the new generation after each clone from now on, the latest only, until the
// context ends. There must be a signal.
func (d *CloneDetector) Notify(ctx context.Context) <-chan uint64 {
	generations := make(chan uint64, 1)
	file, receive := d.openForPoll()
	last := d.newest()
	send := func() {
		now := d.newest()
		if now == last {
			return
		}
		last = now
		select {
		case <-generations:
		default:
		}
		generations <- now // nobody else sends, so there is room
	}
	reported := make(chan struct{})
	if file != nil {
		context.AfterFunc(ctx, func() { file.Close() })
		go func() {
			connection, err := file.SyscallConn()
			if err != nil {
				return
			}
			// Returns after an error: the context has ended, or the device was removed.
			_ = connection.Read(func(descriptor uintptr) (isDone bool) {
				err := receive(int(descriptor))
				select {
				case reported <- struct{}{}:
				case <-ctx.Done():
				}
				return err != nil
			})
		}()
	}
	go func() {
		defer close(generations)
		ticker := time.NewTicker(pollInterval)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-reported:
			case <-ticker.C:
			}
			send()
		}
	}()
	return generations
}

// openForPoll opens a file that becomes readable after a clone: the signal's device, if its driver reports changes, or
// else the kernel's log, which gets a message after vmgenid's page has changed. After receive, the file is readable
// again only after the next clone. It returns nil if there is neither.
func (d *CloneDetector) openForPoll() (file *os.File, receive func(descriptor int) error) {
	if device, ok := d.policy.signal.openForPoll(); ok {
		return os.NewFile(uintptr(device), "device"), func(device int) error {
			_, err := unix.Pread(device, make([]byte, 8), 0)
			return err
		}
	}
	messages := d.messages
	if messages == nil {
		messages = new(cloneMessages) // only to be notified: the generation is the signal's
	}
	if d.policy.HasVMGenID() {
		if log := openKernelLog(); log != nil {
			return os.NewFile(uintptr(log.descriptor), logPath), messages.receive
		}
	}
	return nil, nil
}

// openForPoll opens the signal's device once more, if its driver reports changes to poll(2). A driver that does not
// reports at once that the device is writable too, or that it has hung up.
func (s *cloneSignal) openForPoll() (device int, ok bool) {
	if !s.isImmediate() {
		return 0, false
	}
	device, ok = openDevice(s.device.path, s.device.isNamed)
	if !ok {
		return 0, false
	}
	poll := []unix.PollFd{{Fd: int32(device), Events: unix.POLLIN | unix.POLLOUT}}
	if _, err := unix.Poll(poll, 0); err != nil || poll[0].Revents&^unix.POLLIN != 0 {
		unix.Close(device)
		return 0, false
	}
	return device, true
}
