//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Whether this machine was cloned, for what a program must not share with its clones: as a number for each request,
// and as a message. Squall's own bytes need neither.

// Clones tells of clones of this machine by an immediate signal or else by the kernel's log. It must never say that there was no
// clone if it has neither.
type Clones struct {
	policy *Policy
	// messages is nil if there is an immediate signal, or if this process may not read the kernel's log.
	messages *cloneMessages
}

// FindClones looks for the machine's signals. The kernel's generation should have been found before, which a request
// for random bytes does: otherwise each look at the kernel's log takes a system call.
func FindClones() *Clones { return newClones(Decide()) }

func newClones(policy *Policy) *Clones {
	clones := &Clones{policy: policy}
	if policy.HasVMGenID && !policy.HasImmediateSignal() {
		if log := openKernelLog(); log != nil {
			clones.messages = new(cloneMessages)
			clones.messages.log.Store(log)
		}
	}
	return clones
}

// Signal returns the name of the signal; "" if there is none.
func (c *Clones) Signal() string {
	switch {
	case c.policy.HasImmediateSignal():
		return c.policy.signal.guard
	case c.messages != nil:
		return "kernel-log"
	default:
		return ""
	}
}

// Generation returns a number that differs from earlier ones once this process may run in another copy of its
// machine; false if that is unknown.
func (c *Clones) Generation() (generation uint64, known bool) {
	switch {
	case c.policy.HasImmediateSignal():
		return c.policy.signal.value(), true
	case c.messages != nil:
		return c.messages.number()
	default:
		return 0, false
	}
}

// lookPeriod is how often a signal is looked at that cannot be waited for.
const lookPeriod = 100 * time.Millisecond

// Notify returns a channel that gets the new generation after each clone from now on, the latest only, until the
// context ends. There must be a signal.
func (c *Clones) Notify(ctx context.Context) <-chan uint64 {
	news := make(chan uint64, 1)
	file, takeNews := c.openToWait()
	last, _ := c.Generation()
	tell := func() {
		now, _ := c.Generation()
		if now == last {
			return
		}
		last = now
		select {
		case <-news:
		default:
		}
		news <- now // nobody else sends, so there is room
	}
	go func() {
		defer close(news)
		if file != nil {
			defer file.Close()
			defer context.AfterFunc(ctx, func() { file.Close() })()
			if connection, err := file.SyscallConn(); err == nil {
				// Ends with an error, as after the context has ended or the device was removed.
				_ = connection.Read(func(descriptor uintptr) (isOver bool) {
					err := takeNews(int(descriptor))
					tell()
					return err != nil
				})
			}
		}
		for look := time.NewTicker(lookPeriod); ; {
			select {
			case <-ctx.Done():
				return
			case <-look.C:
				tell()
			}
		}
	}()
	return news
}

// openToWait opens what becomes readable after a clone: the signal's device, if its driver reports changes, or else the
// kernel's log, where a message follows a change of vmgenid's page. takeNews makes it wait for the next clone. There is
// no file if there is neither.
func (c *Clones) openToWait() (file *os.File, takeNews func(descriptor int) error) {
	if device, ok := c.policy.signal.openToWait(); ok {
		return os.NewFile(uintptr(device), "device"), func(device int) error {
			_, err := unix.Pread(device, make([]byte, 8), 0)
			return err
		}
	}
	messages := c.messages
	if messages == nil {
		messages = new(cloneMessages) // they only wake up
	}
	if c.policy.HasVMGenID {
		if log := openKernelLog(); log != nil {
			return os.NewFile(uintptr(log.descriptor), logPath), messages.receive
		}
	}
	return nil, nil
}

// openToWait opens the signal's device once more, if its driver reports changes to poll(2). A driver without support
// reports at once that everything is possible, even writing, or that the device has hung up.
func (s *cloneSignal) openToWait() (device int, ok bool) {
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
