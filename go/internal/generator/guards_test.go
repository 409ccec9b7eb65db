//go:build linux && amd64 && !purego && squall_testing

package generator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/squall-rng/squall/go/internal/aes256"
	"github.com/squall-rng/squall/go/internal/failpoint"
	"github.com/squall-rng/squall/go/internal/guard"
	"golang.org/x/sys/unix"
)

// Each guard is tried twice, in processes of their own: with it nothing repeats and nothing is stale,
// and without it the same trial fails. A trial that cannot fail would be found so.

// trials say nothing if the guard held, and what went wrong if not.
var trials = map[string]func() error{
	"reseed":  nothingOutlivesAReseed,
	"fork":    aChildDoesNotRepeat,
	"dropped": droppedPagesAreNotServed,
	"pin":     onePageIsOneGoroutines,
	"words":   func() error { return restored(word8) },
	"bytes":   func() error { return restored(fill16) },
	"later":   func() error { return restoredLater(word8) },
	"hidden":  inAHiddenVM,
	"cpu":     theCPUTellsSeedsApart,
	"large":   func() error { return restored(fill512) },
	"locked":  pagesStayHere,
	"long":    func() error { return startedOver(Fill) },
	"afresh":  func() error { return startedOver(Fresh) },
	"forced":  forcedReseedsLeaveNothingOut,
	"fresh":   droppedPagesGiveNothingFresh,
	"age":     nothingGetsOld,
	"works":   everythingWorks,
}

var seams = map[string]failpoint.Failpoint{
	"GenerationCheck": failpoint.GenerationCheck, "GenerationPlace": failpoint.GenerationPlace, "VDSO": failpoint.VDSO,
	"ForkGuard": failpoint.ForkGuard, "Droppable": failpoint.Droppable, "Recheck": failpoint.Recheck, "Hedge": failpoint.Hedge,
	"DelayedNotification": failpoint.DelayedNotification, "Tick": failpoint.Tick, "VMClock": failpoint.VMClock, "VMGenID": failpoint.VMGenID,
	"Pin": failpoint.Pin, "BareMetal": failpoint.BareMetal, "FreshCheck": failpoint.FreshCheck, "SeedAge": failpoint.SeedAge,
	"Noise": failpoint.Noise, "Announced": failpoint.Announced,
	"KernelBytes": failpoint.KernelBytes,
}

const (
	trialVariable = "SQUALL_TRIAL"
	offVariable   = "SQUALL_OFF"
	// skipped is how a trial ends that this machine cannot make, failed one whose guard did not hold.
	skipped, failed = 77, 78
)

// errSkip is what a trial says that this machine cannot make.
var errSkip = errors.New("SKIP")

func TestMain(m *testing.M) {
	name := os.Getenv(trialVariable)
	if name == "" {
		os.Exit(m.Run())
	}
	for _, off := range strings.Fields(os.Getenv(offVariable)) {
		seams[off].TurnOff()
	}
	err := trials[name]()
	switch {
	case errors.Is(err, errSkip):
		fmt.Println(err)
		os.Exit(skipped)
	case err != nil:
		fmt.Println(err)
		os.Exit(failed)
	}
	os.Exit(0)
}

// tried is how a trial ends with these guards off, and what it said.
func tried(t *testing.T, name, off string) (int, string) {
	t.Helper()
	patience, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	command := exec.CommandContext(patience, os.Args[0])
	command.Env = append(os.Environ(), trialVariable+"="+name, offVariable+"="+off)
	output, err := command.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), strings.TrimSpace(string(output))
}

func TestGuards(t *testing.T) {
	needsState(t)
	cases := []struct {
		trial string
		// off are guards that are off both times, for others to be needed.
		off string
		// control are those without which it must fail.
		control string
	}{
		{"reseed", "", "GenerationCheck"},
		{"reseed", "GenerationPlace", "GenerationCheck"},
		{"fork", "", "ForkGuard"},
		{"fork", "Droppable", "ForkGuard"},
		{"fork", "GenerationPlace", "ForkGuard"},
		{"fork", "VDSO BareMetal", "ForkGuard Hedge"},
		{"dropped", "", "Recheck"},
		{"dropped", "DelayedNotification", "Recheck"},
		{"fresh", "Noise", "FreshCheck"},
		{"age", "VDSO", "SeedAge"},
		{"pin", "", "Pin"},
		{"words", "BareMetal VMGenID VMClock", "Hedge"},
		{"bytes", "BareMetal VMGenID VMClock", "Hedge"},
		{"bytes", "BareMetal VMClock Tick", "DelayedNotification"},
		{"later", "BareMetal VMClock", "Tick"},
		{"hidden", "Announced VMClock", "VMGenID"},
		{"bytes", "BareMetal VMClock GenerationPlace", "DelayedNotification"},
		{"large", "BareMetal VMGenID VMClock", "Hedge"},
		{"large", "BareMetal VMClock Tick", "DelayedNotification"},
		{"locked", "Droppable", ""},
		{"cpu", "KernelBytes", "Noise"},
		{"long", "", "GenerationCheck"},
		{"afresh", "", "GenerationCheck"},
		{"forced", "", ""},
		{"works", "VDSO", ""},
		{"works", "Droppable", ""},
		{"works", "GenerationPlace", ""},
	}
	for _, c := range cases {
		t.Run(strings.Join([]string{c.trial, c.off, "control", c.control}, " "), func(t *testing.T) {
			code, said := tried(t, c.trial, c.off)
			if code == skipped {
				if os.Getenv("SQUALL_REQUIRE_GUARDS") != "" && !(isRace && c.trial == "fork") {
					t.Fatalf("required, but skipped: %s", said)
				}
				t.Skip(said)
			}
			if code != 0 {
				t.Fatalf("with the guard, exit code %d: %s", code, said)
			}
			if c.control == "" {
				return
			}
			// What must happen at an unlucky moment does not in every run.
			for attempt := 0; attempt < 5 && code != failed; attempt++ {
				code, said = tried(t, c.trial, c.off+" "+c.control)
			}
			if code != failed {
				t.Fatalf("without the guard the trial must fail: exit code %d: %s", code, said)
			}
			t.Logf("without: %s", said)
		})
	}
}

func word8() (out [16]byte) {
	*(*uint64)(unsafe.Pointer(&out)) = Word()
	return out
}

func fill16() (out [16]byte) {
	Fill(out[:])
	return out
}

// fill512 is the front of what is too long for the buffer.
func fill512() [16]byte {
	var out [512]byte
	Fill(out[:])
	return [16]byte(out[:])
}

// reseedKernel has the kernel's RNG reseed itself.
func reseedKernel() error {
	const reseed = 0x5207 // RNDRESEEDCRNG
	file, err := os.OpenFile("/dev/urandom", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, file.Fd(), reseed, 0); errno != 0 {
		return fmt.Errorf("%w: the kernel's RNG cannot be reseeded: %v", errSkip, errno)
	}
	return nil
}

// After a reseed of the kernel the next number is of a new seed.
func nothingOutlivesAReseed() error {
	runtime.GOMAXPROCS(1)
	runtime.LockOSThread()
	for range 20 {
		for _, draw := range []func() [16]byte{word8, fill16} {
			draw()
			before := Reseeds.Load()
			draw()
			if Reseeds.Load() != before {
				continue // the kernel did so by itself
			}
			if err := reseedKernel(); err != nil {
				return err
			}
			draw()
			if Reseeds.Load() == before {
				return errors.New("a number came of the old seed")
			}
		}
	}
	return nil
}

// quarters is how often a request of 1 MiB lets others run.
const quarters = 4

// reseeding is what came of a draw of 1 MiB within which the kernel reseeded.
type reseeding struct {
	all []byte
	// front is what was there of it when the kernel first did.
	front [16]byte
	// isWithin tells whether it did before the draw was over.
	isWithin bool
}

// whileReseeding draws, and has the kernel reseed when others are let run for the time first, and each time
// from then until last.
func whileReseeding(draw func([]byte), first, last int) (r reseeding, err error) {
	r.all = make([]byte, 1<<20)
	var isOver atomic.Bool
	var group sync.WaitGroup
	group.Go(func() {
		for turn := 1; turn <= last && !isOver.Load() && err == nil; turn++ {
			for !isOver.Load() && [16]byte(r.all) == [16]byte{} {
				runtime.Gosched()
			}
			if turn == first {
				r.front = [16]byte(r.all)
			}
			if turn >= first {
				err = reseedKernel()
				r.isWithin = r.isWithin || !isOver.Load()
			}
			runtime.Gosched()
		}
	})
	draw(r.all)
	isOver.Store(true)
	group.Wait()
	return r, err
}

// A request within which the kernel reseeds, as it does in a clone, is started over, whether there is more to
// come or not.
func startedOver(draw func([]byte)) error {
	runtime.GOMAXPROCS(1)
	runtime.LockOSThread()
	for turn := 1; turn <= quarters; turn++ {
		within, kept := 0, 0
		for attempt := 0; within < 20 && attempt < 1000; attempt++ {
			isReady()
			page := pin()
			page.Drawn = 0 // so that others are let run at the end of each quarter
			guard.Unpin()
			r, err := whileReseeding(draw, turn, turn)
			if err != nil {
				return err
			}
			if r.isWithin {
				within++
				if r.front == [16]byte(r.all) {
					kept++
				}
			}
		}
		// A reseed may come between the last check and the return, but not often.
		if within == 0 || 2*kept > within {
			return fmt.Errorf("%d reseeds in quarter %d: %d times the front is of before", within, turn, kept)
		}
	}
	return nil
}

// Who has the kernel reseed without pause gets all that was asked for.
func forcedReseedsLeaveNothingOut() error {
	runtime.GOMAXPROCS(1)
	runtime.LockOSThread()
	Word()
	r, err := whileReseeding(Fill, 1, math.MaxInt)
	for i := 0; i < len(r.all) && err == nil; i += 16 {
		if [16]byte(r.all[i:]) == [16]byte{} {
			return fmt.Errorf("zeros at %d", i)
		}
	}
	return err
}

// A page that is not droppable is emptied in a forked child, not dumped, and locked where that is allowed.
func pagesStayHere() error {
	runtime.GOMAXPROCS(1)
	runtime.LockOSThread()
	Word()
	flags, err := flagsOf(unsafe.Pointer(all.Load().pages[0]))
	if err != nil {
		return err
	}
	own := make([]byte, guard.PageSize)
	mayLock := unix.Mlock(own) == nil
	for flag, isNeeded := range map[string]bool{"wf": true, "dd": true, "lo": mayLock} {
		if isNeeded && !slices.Contains(flags, flag) {
			return fmt.Errorf("its memory has no flag %s (proc_pid_smaps(5)), but %v", flag, flags)
		}
	}
	return nil
}

// flagsOf are those of the memory at an address (proc_pid_smaps(5)).
func flagsOf(address unsafe.Pointer) ([]string, error) {
	maps, err := os.ReadFile("/proc/self/smaps")
	if err != nil {
		return nil, fmt.Errorf("%w: %v", errSkip, err)
	}
	isThere := false
	for line := range strings.Lines(string(maps)) {
		var start, end uintptr
		if _, err := fmt.Sscanf(line, "%x-%x ", &start, &end); err == nil {
			isThere = start <= uintptr(address) && uintptr(address) < end
		}
		if flags, found := strings.CutPrefix(line, "VmFlags:"); found && isThere {
			return strings.Fields(flags), nil
		}
	}
	return nil, errors.New("no such memory")
}

// Where the kernel's bytes are known, the CPU's tell apart what is seeded by them.
func theCPUTellsSeedsApart() error {
	runtime.GOMAXPROCS(1)
	runtime.LockOSThread()
	seen := map[[16]byte]bool{}
	for range 50 {
		Word()
		clear(unsafe.Slice((*byte)(unsafe.Pointer(all.Load().pages[0])), guard.PageSize))
		number, fresh := make([]byte, 512), make([]byte, 512)
		serve(requestNumber, number) // which is not hedged
		Fresh(fresh)
		for _, out := range [][]byte{number, fresh} {
			if seen[[16]byte(out)] {
				return fmt.Errorf("%x was given out twice", out[:16])
			}
			seen[[16]byte(out)] = true
		}
	}
	return nil
}

// A raw fork leaves a child whose next numbers are not its parent's. Several, as a buffer may end by
// itself between fork and draw.
func aChildDoesNotRepeat() error {
	if isRace {
		return fmt.Errorf("%w: the race detector does not live in a raw fork's child", errSkip)
	}
	runtime.GOMAXPROCS(1)
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	answers := 0
	for attempt := 0; answers < 20; attempt++ {
		answered, err := forkOnce()
		if err != nil {
			return err
		}
		if answered {
			answers++
		}
		if attempt > 40 {
			return errors.New("children do not answer")
		}
	}
	return nil
}

// drawn is what one process draws: words and bytes in turn.
type drawn [32][16]byte

func (d *drawn) bytes() []byte { return unsafe.Slice((*byte)(unsafe.Pointer(d)), unsafe.Sizeof(*d)) }

func (d *drawn) draw() {
	for i := range d {
		if i%2 == 0 {
			d[i] = word8()
		} else {
			d[i] = fill16()
		}
	}
}

// forkOnce compares a child's draws with its parent's; false if there was no answer: Go's runtime does
// not promise that a child of a raw fork gets anywhere.
func forkOnce() (answered bool, err error) {
	ours, theirs := new(drawn), new(drawn)
	ours.draw() // whatever takes memory has it before the fork
	var pipe [2]int
	if err := syscall.Pipe2(pipe[:], syscall.O_NONBLOCK); err != nil {
		return false, err
	}
	defer syscall.Close(pipe[0])
	defer syscall.Close(pipe[1])
	child, _, errno := syscall.RawSyscall(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0)
	if errno != 0 {
		return false, errno
	}
	ours.draw()
	if child == 0 {
		syscall.RawSyscall(syscall.SYS_WRITE, uintptr(pipe[1]), uintptr(unsafe.Pointer(ours)), unsafe.Sizeof(*ours))
		syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
	}
	defer func() {
		syscall.Kill(int(child), syscall.SIGKILL)
		syscall.Wait4(int(child), nil, 0, nil)
	}()
	for began := time.Now(); time.Since(began) < time.Second; time.Sleep(100 * time.Microsecond) {
		if got, _ := syscall.Read(pipe[0], theirs.bytes()); got == len(theirs.bytes()) {
			return true, theirs.repeats(ours)
		}
	}
	return false, nil
}

// repeats fails if anything of others' is here too.
func (d *drawn) repeats(others *drawn) error {
	seen := map[[16]byte]bool{}
	for _, out := range others {
		seen[out] = true
	}
	for i, out := range d {
		if seen[out] {
			return fmt.Errorf("output %d of the child is the parent's", i)
		}
	}
	return nil
}

// Pages that the kernel drops under load give nobody zeros, nor keystream of a key that is zero.
func droppedPagesAreNotServed() error {
	known := knownBlocks()
	return whileDropped(func() error {
		if Word() == 0 || fill16() == [16]byte{} {
			return errors.New("zeros of a dropped page")
		}
		var long [400]byte
		Fill(long[:])
		if block := [16]byte(long[:]); known[block] {
			return fmt.Errorf("%x is keystream of a dropped page", block)
		}
		return nil
	})
}

// knownBlocks are what comes first of a state of zeros, and of round keys that are zero.
func knownBlocks() map[[16]byte]bool {
	known := map[[16]byte]bool{}
	var keys, none [guard.KeysLen]byte
	aes256.Expand(new([aes256.KeySize]byte), &keys)
	for _, keys := range []*[guard.KeysLen]byte{&keys, &none} {
		var block [16]byte
		aes256.Best().Keystream(keys, new([16]byte), block[:])
		known[block] = true
	}
	return known
}

// Fresh bytes are not made of a seed that was dropped: without noise it would be the same each time.
func droppedPagesGiveNothingFresh() error {
	var mutex sync.Mutex
	seen := map[[16]byte]bool{}
	return whileDropped(func() error {
		var out [16]byte
		Fresh(out[:])
		mutex.Lock()
		defer mutex.Unlock()
		if seen[out] {
			return fmt.Errorf("%x was given out twice", out)
		}
		seen[out] = true
		return nil
	})
}

// whileDropped lets several goroutines draw while all pages are dropped over and over, until one fails or
// some seconds are over.
func whileDropped(draw func() error) error {
	Word()
	var failed atomic.Pointer[error]
	var stop atomic.Bool
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for !stop.Load() {
				if err := draw(); err != nil {
					failed.Store(&err)
				}
			}
		})
	}
	defer group.Wait()
	defer stop.Store(true)
	for began := time.Now(); time.Since(began) < 3*time.Second && failed.Load() == nil; {
		for _, page := range all.Load().pages {
			memory := unsafe.Slice((*byte)(unsafe.Pointer(page)), guard.PageSize)
			if err := unix.Madvise(memory, unix.MADV_DONTNEED); err != nil {
				return fmt.Errorf("%w: pages cannot be dropped: %v", errSkip, err)
			}
		}
	}
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// Where the kernel does not show its generation, a seed ends with its minute, and when a clock goes back.
func nothingGetsOld() error {
	runtime.GOMAXPROCS(1)
	runtime.LockOSThread()
	theirs := clocks
	for _, shift := range [][2]time.Duration{{61 * time.Second, 0}, {0, 61 * time.Second}, {0, -time.Hour}} {
		Word()
		before := Reseeds.Load()
		Word()
		if Reseeds.Load() != before {
			return errors.New("it is seeded at each request")
		}
		clocks = func() (now [2]int64) {
			for i, time := range theirs() {
				now[i] = time + int64(shift[i])
			}
			return now
		}
		Word()
		if Reseeds.Load() == before {
			return fmt.Errorf("a seed is used %v after it was made", shift)
		}
		clocks = theirs
		Word()
	}
	return nil
}

// While a goroutine uses a page nobody else does.
func onePageIsOneGoroutines() error {
	runtime.GOMAXPROCS(max(4, runtime.NumCPU()))
	const goroutines = 16
	for range 20 {
		drawn := make([][]uint64, goroutines)
		var group sync.WaitGroup
		for i := range drawn {
			group.Go(func() {
				words := make([]uint64, 50_000)
				for j := range words {
					words[j] = Word()
				}
				drawn[i] = words
			})
		}
		group.Wait()
		seen := make(map[uint64]bool, goroutines*50_000)
		for _, words := range drawn {
			for _, word := range words {
				if seen[word] {
					return fmt.Errorf("%#x was given to two", word)
				}
				seen[word] = true
			}
		}
	}
	return nil
}

// restored draws, puts all pages back as they were, as a restored snapshot does, and draws again.
func restored(draw func() [16]byte) error { return restoredAfter(draw, func() {}) }

// restoredLater does so when the kernel's tick is over.
func restoredLater(draw func() [16]byte) error {
	return restoredAfter(draw, func() { time.Sleep(30 * time.Millisecond) })
}

// inAHiddenVM is restored where nothing but a vmgenid tells that this is a VM.
func inAHiddenVM() error {
	if !guard.ThisPolicy().HasVMGenID && !failpoint.VMGenID.Off() {
		return fmt.Errorf("%w: no vmgenid", errSkip)
	}
	return restoredWhenever(fill16, func() {})
}

func restoredAfter(draw func() [16]byte, pause func()) error {
	if !guard.ThisPolicy().HasVMGenID && guard.ThisPolicy().SeesClones() {
		return fmt.Errorf("%w: nothing here needs it", errSkip)
	}
	return restoredWhenever(draw, pause)
}

func restoredWhenever(draw func() [16]byte, pause func()) error {
	runtime.GOMAXPROCS(1)
	runtime.LockOSThread()
	const count = 50
	for range count {
		draw()
		page := all.Load().pages[0]
		memory := unsafe.Slice((*byte)(unsafe.Pointer(page)), guard.PageSize)
		snapshot := bytes.Clone(memory)
		one := draw()
		pause()
		copy(memory, snapshot)
		other := draw()
		if one == other {
			return fmt.Errorf("both clones were given %x", one)
		}
	}
	return nil
}

// All kinds of requests are served, each different from the last.
func everythingWorks() error {
	seen := map[[16]byte]bool{}
	for range 2000 {
		long, fresh := make([]byte, 100_000), make([]byte, 16)
		Fill(long)
		Fresh(fresh)
		for _, out := range [][16]byte{word8(), fill16(), [16]byte(long[99_984:]), [16]byte(fresh)} {
			if seen[out] {
				return fmt.Errorf("%x was given out twice", out)
			}
			seen[out] = true
		}
	}
	fmt.Printf("%+v\n", Now())
	return nil
}
