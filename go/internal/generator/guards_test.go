//go:build linux && (amd64 || arm64) && !purego && squall_testing

package generator

import (
	"bytes"
	"context"
	"encoding/binary"
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
	"reseed":           nothingOutlivesAReseed,
	"fork":             func() error { return aChildDoesNotRepeat(word8, fill16) },
	"fork, simulation": func() error { return aChildDoesNotRepeat(simulation8) },
	"dropped":          droppedPagesAreNotServed,
	"pin":              onePageIsOneGoroutines,
	"clone, 64 bits":   func() error { return clonesDiffer(word8) },
	"clone, 32 bits":   func() error { return clonesDiffer(word4) },
	"clone, 16 bytes":  func() error { return clonesDiffer(fill16) },
	"clone, 32 bytes":  func() error { return clonesDiffer(fill32) },
	"clone, 512 bytes": func() error { return cloned([]func() [16]byte{fill512}, aStop) }, // with or without bursts
	"clone, all":       func() error { return clonesDiffer(word8, word4, fill16, fill32) },
	"no anchors":       everyRequestIsDifferent,
	"simulation":       clonesShareSimulations,
	"lengths":          refillsAreInProportion,
	"hidden":           inAHiddenVM,
	"cpu":              theCPUTellsSeedsApart,
	"locked":           pagesStayHere,
	"long":             func() error { return startedOver(Fill) },
	"afresh":           func() error { return startedOver(Fresh) },
	"forced":           forcedReseedsLeaveNothingOut,
	"fresh":            droppedPagesGiveNothingFresh,
	"age":              nothingGetsOld,
	"works":            everythingWorks,
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
		guard, isKnown := failpoint.Named(off)
		if !isKnown {
			panic("no guard is called " + off)
		}
		guard.TurnOff()
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

// Guards that are off to have bursts on any machine that has the instructions.
const (
	late      = "BareMetal CloneSignal NoKVM"
	unsettled = "Announced VMGenID CloneSignal Settled NoKVM"
)

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
		// A pad would keep a child from repeating, too.
		{"fork", "DelayedNotification", "ForkGuard"},
		{"fork", "", "ForkGuard DelayedNotification"},
		{"fork", "Droppable DelayedNotification", "ForkGuard"},
		{"fork", "GenerationPlace DelayedNotification", "ForkGuard"},
		{"fork", "VDSO BareMetal DelayedNotification", "ForkGuard"},
		{"fork, simulation", "", "ForkGuard"},
		{"dropped", "", "Recheck"},
		{"dropped", "DelayedNotification", "Recheck"},
		{"fresh", "Noise", "FreshCheck"},
		{"age", "VDSO", "SeedAge"},
		{"pin", "DelayedNotification", "Pin"},
		// Where clones are notified late: behind a vmgenid, if there is one.
		{"clone, 64 bits", late, "Stops"},
		{"clone, 64 bits", late, "Anchors"},
		{"clone, 64 bits", late, "DelayedNotification"},
		{"clone, 32 bits", late, "Stops"},
		{"clone, 32 bits", late, "Anchors"},
		{"clone, 16 bytes", late, "Stops"},
		{"clone, 16 bytes", late, "Anchors"},
		{"clone, 32 bytes", late, "Stops"},
		{"clone, 32 bytes", late, "Anchors"},
		{"clone, 512 bytes", late, "DelayedNotification"},
		{"clone, all", late + " GenerationPlace", "Stops"},
		{"clone, all", late + " GenerationPlace", "Anchors"},
		// In a VM with no signal at all.
		{"clone, all", late + " VMGenID", "Stops"},
		{"clone, all", late + " VMGenID", "Anchors"},
		{"clone, all", late + " VMGenID VDSO", "Stops"},
		{"clone, 512 bytes", late + " VMGenID", "DelayedNotification"},
		// After a change of the signal of clones, until the kernel was told.
		{"clone, all", unsettled, "Stops"},
		{"clone, all", unsettled, "Anchors"},
		{"clone, 512 bytes", unsettled, "DelayedNotification"},
		// Under a hypervisor that is not known, and where the random instruction fails.
		{"no anchors", "BareMetal CloneSignal KVM", "DelayedNotification"},
		{"no anchors", late + " Noise", "Anchors"},
		{"hidden", "Announced CloneSignal", "VMGenID"},
		{"simulation", late, ""},
		{"lengths", late, ""},
		{"lengths", late + " GenerationPlace", ""},
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
				if os.Getenv("SQUALL_REQUIRE_GUARDS") != "" && !(isRace && strings.HasPrefix(c.trial, "fork")) {
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
	binary.NativeEndian.PutUint64(out[:], Word())
	return out
}

// word4 is of 4 words of 32 bits.
func word4() (out [16]byte) {
	for i := range 4 {
		binary.NativeEndian.PutUint32(out[4*i:], uint32(Word()))
	}
	return out
}

func simulation8() (out [16]byte) {
	binary.NativeEndian.PutUint64(out[:], SimulationWord())
	return out
}

func fill16() (out [16]byte) {
	Fill(out[:])
	return out
}

// fill32 is the front of a key.
func fill32() [16]byte {
	var out [32]byte
	Fill(out[:])
	return [16]byte(out[:])
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
		serve(simulation, number) // which needs no pad
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
func aChildDoesNotRepeat(draws ...func() [16]byte) error {
	if isRace {
		return fmt.Errorf("%w: the race detector does not live in a raw fork's child", errSkip)
	}
	runtime.GOMAXPROCS(1)
	runtime.LockOSThread()
	debug.SetGCPercent(-1)
	answers := 0
	for attempt := 0; answers < 20; attempt++ {
		answered, err := forkOnce(draws)
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

// drawn is what one process or machine draws.
type drawn [32][16]byte

func (d *drawn) bytes() []byte { return unsafe.Slice((*byte)(unsafe.Pointer(d)), unsafe.Sizeof(*d)) }

// draw draws in each of these ways in turn.
func (d *drawn) draw(draws []func() [16]byte) {
	for i := range d {
		d[i] = draws[i%len(draws)]()
	}
}

// forkOnce compares a child's draws with its parent's; false if there was no answer: Go's runtime does
// not promise that a child of a raw fork gets anywhere.
func forkOnce(draws []func() [16]byte) (answered bool, err error) {
	ours, theirs := new(drawn), new(drawn)
	ours.draw(draws) // whatever takes memory has it before the fork
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
	ours.draw(draws)
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
			return fmt.Errorf("output %d of one is the other's", i)
		}
	}
	return nil
}

// Pages that the kernel drops under load give nobody zeros, nor keystream of a key that is zero.
func droppedPagesAreNotServed() error {
	known := knownBlocks()
	return whileDropped(func() error {
		if Word() == 0 || SimulationWord() == 0 || fill16() == [16]byte{} {
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

// trialGap is a gap, in cycles, that an interruption by the machine that tests run on is seldom longer than:
// a trial imitates stops, and what others do is none.
const trialGap = 10_000_000

// aStop takes as long as a stop does at least.
func aStop() {
	for began := cycles(); cycles()-began <= trialGap; {
	}
}

func cycles() uint64 {
	var count [3]uint64
	aes256.Stir(&count, 0)
	return count[0]
}

// clonesDiffer stops the machine within a burst, resumes it twice, and has both clones draw.
func clonesDiffer(draws ...func() [16]byte) error {
	if err := needsBursts(); err != nil {
		return err
	}
	return cloned(draws, aStop)
}

// needsBursts skips what this machine has not, or does not need.
func needsBursts() error {
	policy := guard.Decide()
	Word()
	rule, _ := ruleUnder(policy, policy.Generation())
	if rule != guard.FollowGaps && !failpoint.DelayedNotification.Off() {
		return fmt.Errorf("%w: no bursts on this CPU", errSkip)
	}
	return nil
}

// Where no buffer is an anchor every request has a pad: clones differ even if no stop was seen.
func everyRequestIsDifferent() error {
	if failpoint.NoKVM.Off() {
		if err := needsBursts(); err != nil {
			return err
		}
	}
	return cloned([]func() [16]byte{word8, word4, fill16, fill32}, func() {})
}

// inAHiddenVM is cloned where nothing but a vmgenid tells that this is a VM.
func inAHiddenVM() error {
	if !guard.Decide().HasVMGenID && !failpoint.VMGenID.Off() {
		return fmt.Errorf("%w: no vmgenid", errSkip)
	}
	return cloned([]func() [16]byte{fill16}, aStop)
}

// Words for simulations are what they were in the other clone, as their documentation says.
func clonesShareSimulations() error {
	if err := needsBursts(); err != nil {
		return err
	}
	if err := cloned([]func() [16]byte{simulation8}, aStop); err == nil {
		return errors.New("clones differ: the documentation says that they need not, and this trial shows nothing")
	}
	return nil
}

// Refills begin short behind a pause and double in a burst; are half as long where they took too long, and
// that for a while; and come early only behind requests with pads that follow one another, of which it
// takes more where even short refills take too long.
func refillsAreInProportion() error {
	if err := needsBursts(); err != nil {
		return err
	}
	runtime.GOMAXPROCS(1)
	runtime.LockOSThread()
	if err := stayOnThisCPU(); err != nil {
		return err
	}
	const small, full = firstRefill, guard.BufferLen
	const nothingFits, allFits = 1, 1 << 60
	steps := []struct {
		what string
		gap  uint64
		// requests come first, of 16 bytes.
		requests int
		refills  []uint64
	}{
		{"a burst", allFits, 0, []uint64{small, 2 * small, 4 * small, 8 * small, full, full}},
		{"a pause", nothingFits, 1, nil},
		{"a burst behind it", allFits, 7, []uint64{small, 2 * small}},
		{"one that takes too long", nothingFits, 0, []uint64{4 * small}},
		{"shorter for a while", allFits, 7, slices.Repeat([]uint64{2 * small}, heldRefills+1)},
		{"longer again", allFits, 0, []uint64{4 * small, 8 * small}},
		{"nothing fits", nothingFits, 0, []uint64{full, full / 2, full / 4, full / 8, small, 2 * small, 4 * small}},
		{"a burst behind more pads", allFits, 15, []uint64{small, small}},
	}
	isOver := func() (bool, error) {
		reseeds := Reseeds.Load()
		forget(true)
		for _, step := range steps {
			failpoint.SetGap(step.gap)
			for range step.requests {
				fill16()
			}
			for i, want := range step.refills {
				if length := untilRefill(); length != want {
					// Unless the kernel reseeded, once a minute.
					return Reseeds.Load() == reseeds+1, fmt.Errorf("%s: refill %d is of %d bytes, not %d", step.what, i, length, want)
				}
			}
		}
		return true, nil
	}
	for {
		if isOver, err := isOver(); isOver {
			return err
		}
	}
}

// untilRefill draws until the buffer is filled anew, and tells its length.
func untilRefill() uint64 {
	const length = 16
	page := all.Load().pages[0]
	for {
		before := page.Left + page.Held
		fill16()
		if after := page.Left + page.Held; after+length != before {
			return after + length
		}
	}
}

// cloned draws, keeps what the page is like as a snapshot does, draws again, puts it back, and draws once
// more; with a stop before each of these. It fails if something was drawn in both clones.
func cloned(draws []func() [16]byte, stop func()) error {
	runtime.GOMAXPROCS(1)
	runtime.LockOSThread()
	if err := stayOnThisCPU(); err != nil {
		return err
	}
	failpoint.SetGap(trialGap)
	const count = 50
	for range count {
		var before, one, other drawn
		before.draw(draws)
		memory := unsafe.Slice((*byte)(unsafe.Pointer(all.Load().pages[0])), guard.PageSize)
		snapshot := bytes.Clone(memory)
		stop()
		one.draw(draws)
		copy(memory, snapshot)
		stop()
		other.draw(draws)
		if err := other.repeats(&one); err != nil {
			return err
		}
	}
	return nil
}

// stayOnThisCPU has the thread stay where it is.
func stayOnThisCPU() error {
	var number int
	if _, _, errno := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&number)), 0, 0); errno != 0 {
		return errno
	}
	var one unix.CPUSet
	one.Set(number)
	return unix.SchedSetaffinity(0, &one)
}

// All kinds of requests are served, each different from the last.
func everythingWorks() error {
	seen := map[[16]byte]bool{}
	for range 2000 {
		long, fresh := make([]byte, 100_000), make([]byte, 16)
		Fill(long)
		Fresh(fresh)
		for _, out := range [][16]byte{word8(), simulation8(), fill16(), [16]byte(long[99_984:]), [16]byte(fresh)} {
			if seen[out] {
				return fmt.Errorf("%x was given out twice", out)
			}
			seen[out] = true
		}
	}
	fmt.Printf("%+v\n", Now())
	return nil
}
