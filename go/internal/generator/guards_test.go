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
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/squall-rng/squall/go/internal/aes256"
	"github.com/squall-rng/squall/go/internal/drbg"
	"github.com/squall-rng/squall/go/internal/failpoint"
	"github.com/squall-rng/squall/go/internal/guard"
	"golang.org/x/sys/unix"
)

// Each guard is tested twice, in separate processes: with the guard nothing repeats and nothing is stale,
// and without it the same trial must fail. So a trial that cannot fail is found. Short tests, as under the race
// detector, run each trial once, with the guard.

// trials run on one P and one thread, unless they change that. They return nil if the guard held, and otherwise an error.
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
	"clone, 1 KiB":     func() error { return clonesDiffer(fill1024) },
	"clone, all":       func() error { return clonesDiffer(word8, word4, fill16, fill32, simulation8, fill1024) },
	"restored, small":  func() error { return restoredProcessesDiffer(fill16, word8, simulation8) },
	"restored, 1 KiB":  func() error { return restoredProcessesDiffer(fill1024, fill16) },
	"cloned within":    clonesWithinRequestsAreSeen,
	"given up":         recordsThatChangeTooOftenAreGivenUp,
	"settled":          requestsSettleKVMClock,
	"restored within":  ticksWithinRequestsAreSeen,
	"unnoticed, small": func() error { return unnoticedCopiesDiffer(word8, word4, fill16, fill32) },
	"unnoticed, 1 KiB": func() error { return unnoticedCopiesDiffer(fill1024) },
	"simulation":       clonesShareSimulations,
	"lengths":          refillsAreInProportion,
	"pads":             padsOfOneTickDiffer,
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
	trialVariable      = "SQUALL_TRIAL"
	failpointsVariable = "SQUALL_FAILPOINTS"
	// dropsVariable is how often pages are dropped, less often than usual on an emulated machine and under the race
	// detector.
	dropsVariable = "SQUALL_DROPS"
	// skipped is the exit code of a trial that this machine cannot run, failed of one whose guard did not hold.
	skipped, failed = 77, 78
)

var (
	// errSkip is returned by a trial that this machine cannot run.
	errSkip = errors.New("not on this machine")
	// errLacks is returned if it lacks a device or an instruction, so that no privilege would help.
	errLacks = fmt.Errorf("%w: it lacks", errSkip)
)

func TestMain(m *testing.M) {
	name := os.Getenv(trialVariable)
	if name == "" {
		os.Exit(m.Run())
	}
	if err := failpoint.Activate(strings.Fields(os.Getenv(failpointsVariable))); err != nil {
		panic(err)
	}
	runtime.GOMAXPROCS(1)
	runtime.LockOSThread()
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

// runTrial runs a trial under these failpoints and returns its exit code and output.
func runTrial(t *testing.T, name, failpoints string) (int, string) {
	t.Helper()
	patience, end := context.WithTimeout(t.Context(), time.Hour) // an emulated machine is slow
	defer end()
	command := exec.CommandContext(patience, os.Args[0])
	command.Env = append(os.Environ(), trialVariable+"="+name, failpointsVariable+"="+failpoints)
	command.WaitDelay = time.Minute // for a child that lives on with its output
	output, err := command.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), strings.TrimSpace(string(output))
}

const (
	// noVM imitates a machine that is no VM.
	noVM = "HideHypervisorAnnouncement HideVMGenID HideCloneSignal HideKVMClock"
	// lateSignal imitates a VM whose clones are noticed late: by a vmgenid, if there is one. The tick shows nothing.
	lateSignal = "PretendVM HideCloneSignal HideKVMClock FreezeTick"
	// alone switches off what else makes a forked child differ.
	alone = "SkipUnnotifiedCloneGuard HideKVMClock FreezeTick"
)

func TestGuards(t *testing.T) {
	needsState(t)
	cases := []struct {
		trial string
		// failpoints are active in both runs, so that the tested guard is needed.
		failpoints string
		// control are the failpoints under which the trial must fail, too.
		control string
	}{
		{"reseed", "", "FreezeGeneration"},
		{"reseed", "HideGenerationAddress", "FreezeGeneration"},
		{"fork", alone, "SkipForkGuard"},
		{"fork", "", "SkipForkGuard " + alone},
		{"fork", "RefuseDroppable " + alone, "SkipForkGuard"},
		{"fork", "HideGenerationAddress " + alone, "SkipForkGuard"},
		{"fork", "HideVDSO PretendVM " + alone, "SkipForkGuard"},
		{"fork, simulation", "HideKVMClock FreezeTick", "SkipForkGuard"},
		{"dropped", "", "CheckBeforeRead"},
		{"dropped", "SkipUnnotifiedCloneGuard", "CheckBeforeRead"},
		{"fresh", "SkipNoise", "SkipFreshCheck"},
		{"age", "HideVDSO HideKVMClock", "FreezeSeedAge"},
		{"pin", "SkipUnnotifiedCloneGuard", "SkipPin"},
		// By kvm-clock's records.
		{"clone, 64 bits", "FreezeTick", "FreezeKVMClock"},
		{"clone, 32 bits", "FreezeTick", "FreezeKVMClock"},
		{"clone, 16 bytes", "FreezeTick", "FreezeKVMClock"},
		{"clone, 32 bytes", "FreezeTick", "FreezeKVMClock"},
		{"clone, 1 KiB", "FreezeTick SkipUnnotifiedCloneGuard", "FreezeKVMClock"},
		{"clone, all", "FreezeTick HideRDPID", "FreezeKVMClock"},
		{"clone, all", "FreezeTick HideGenerationAddress", "FreezeKVMClock"},
		{"clone, all", "FreezeTick HideVDSO", "FreezeKVMClock"},
		{"cloned within", "FreezeTick", "FreezeKVMClock"},
		{"given up", "FreezeTick", "FreezeKVMClock"},
		{"settled", "", ""},
		// By the tick.
		{"restored, small", "", "FreezeTick"},
		{"restored, 1 KiB", "SkipUnnotifiedCloneGuard", "FreezeTick"},
		{"restored, small", noVM, "FreezeTick"},
		{"restored, 1 KiB", noVM, "FreezeTick"},
		{"restored, small", "HideGenerationAddress", "FreezeTick"},
		{"restored, 1 KiB", "HideVDSO SkipUnnotifiedCloneGuard", "FreezeTick"},
		{"restored within", "SkipUnnotifiedCloneGuard", "FreezeTick"},
		{"restored within", noVM, "FreezeTick"},
		// By pads: in a VM with vmgenid alone, or with no signal at all, and where the tick is not found.
		{"unnoticed, small", lateSignal, "SkipUnnotifiedCloneGuard"},
		{"unnoticed, 1 KiB", lateSignal, "SkipUnnotifiedCloneGuard"},
		{"unnoticed, small", lateSignal + " HideVMGenID", "SkipUnnotifiedCloneGuard"},
		{"unnoticed, small", lateSignal + " HideGenerationAddress", "SkipUnnotifiedCloneGuard"},
		{"unnoticed, small", lateSignal + " HideVMGenID HideVDSO", "SkipUnnotifiedCloneGuard"},
		{"unnoticed, small", "HideTick", "SkipUnnotifiedCloneGuard"},
		{"unnoticed, 1 KiB", "HideTick", "SkipUnnotifiedCloneGuard"},
		{"unnoticed, small", noVM + " HideTick", "SkipUnnotifiedCloneGuard"},
		// Where the counter stands still and there is no random instruction.
		{"pads", lateSignal + " SkipPadNoise", "ZeroPadNumbers"},
		{"hidden", "HideHypervisorAnnouncement HideCloneSignal HideKVMClock FreezeTick", "HideVMGenID"},
		{"simulation", lateSignal, ""},
		{"lengths", "FreezeTick", ""},
		{"lengths", "FreezeTick HideGenerationAddress", ""},
		{"locked", "RefuseDroppable", ""},
		{"cpu", "ZeroKernelBytes", "SkipNoise"},
		{"long", "", "FreezeGeneration"},
		{"afresh", "", "FreezeGeneration"},
		{"forced", "", ""},
		{"works", "", ""},
		{"works", "HideVDSO", ""},
		{"works", "RefuseDroppable", ""},
		{"works", "HideGenerationAddress", ""},
		{"works", "HideKVMClock", ""},
		{"works", "HideTick", ""},
	}
	seen := map[string]bool{}
	for _, c := range cases {
		if testing.Short() && seen[c.trial] {
			continue
		}
		seen[c.trial] = true
		t.Run(strings.Join([]string{c.trial, c.failpoints, "control", c.control}, " "), func(t *testing.T) {
			code, said := runTrial(t, c.trial, c.failpoints)
			if code == skipped {
				mayBe := strings.HasPrefix(said, errLacks.Error()) || (isRace && strings.HasPrefix(c.trial, "fork"))
				if os.Getenv("SQUALL_REQUIRE_GUARDS") != "" && !mayBe {
					t.Fatalf("required, but skipped: %s", said)
				}
				t.Skip(said)
			}
			if code != 0 {
				t.Fatalf("with the guard, exit code %d: %s", code, said)
			}
			if c.control == "" || testing.Short() {
				return
			}
			// A failure that needs unlucky timing does not occur in every run.
			for attempt := 0; attempt < 5 && code != failed; attempt++ {
				code, said = runTrial(t, c.trial, c.failpoints+" "+c.control)
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

// word4 draws four words of 32 bits.
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

var fill16, fill32, fill1024 = filled(16), filled(32), filled(1024)

// filled returns a function that draws some bytes, of which the buffer serves up to 256, and returns the first 16.
func filled(length int) func() [16]byte {
	return func() [16]byte {
		var out [1024]byte
		Fill(out[:length])
		return [16]byte(out[:])
	}
}

// reseedKernel makes the kernel's RNG reseed itself.
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

// needsGeneration returns errSkip if the kernel does not show its generation.
func needsGeneration() error {
	Word() // the first seeding decides
	if !guard.Decide().CanSeeGeneration() {
		return fmt.Errorf("%w: the kernel does not show its generation", errSkip)
	}
	return nil
}

// After a reseed of the kernel the next number comes from a new seed.
func nothingOutlivesAReseed() error {
	if err := needsGeneration(); err != nil {
		return err
	}
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
				return errors.New("a number came from the old seed")
			}
		}
	}
	return nil
}

// quarters is the number of times that a request of 1 MiB lets others run.
const quarters = 4

// reseeding is the result of a draw of 1 MiB during which the kernel reseeded.
type reseeding struct {
	all []byte
	// front are the first bytes at the time of the first reseed.
	front [16]byte
	// isWithin is set if a reseed happened before the draw was over.
	isWithin bool
}

// whileReseeding draws, and makes the kernel reseed each time the draw lets others run, from turn first to
// turn last.
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

// If the kernel reseeds during a request, as it does in a clone, the request is repeated, even at its end.
func startedOver(draw func([]byte)) error {
	if err := needsGeneration(); err != nil {
		return err
	}
	for turn := 1; turn <= quarters; turn++ {
		within, kept := 0, 0
		for attempt := 0; within < 20 && attempt < 1000; attempt++ {
			isReady()
			page := pin()
			page.SinceYield = 0 // so that the draw lets others run at the end of each quarter
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

// If the kernel is forced to reseed without pause, requests are still filled completely.
func forcedReseedsLeaveNothingOut() error {
	Word()
	r, err := whileReseeding(Fill, 1, math.MaxInt)
	for i := 0; i < len(r.all) && err == nil; i += 16 {
		if [16]byte(r.all[i:]) == [16]byte{} {
			return fmt.Errorf("zeros at %d", i)
		}
	}
	return err
}

// A page that is not droppable is emptied in a forked child, not dumped, and locked if that is allowed.
func pagesStayHere() error {
	Word()
	flags, err := flagsOf(unsafe.Pointer(allShards.Load().first))
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

// flagsOf returns the flags of the memory at an address (proc_pid_smaps(5)).
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

// If the kernel's bytes are known, the CPU's bytes make seeds different.
func theCPUTellsSeedsApart() error {
	seen := outputs[[16]byte]{}
	for range 50 {
		Word()
		clear(unsafe.Slice((*byte)(unsafe.Pointer(allShards.Load().first)), guard.PageSize))
		number, fresh := make([]byte, 512), make([]byte, 512)
		serve(simulation, number) // which needs no pad
		Fresh(fresh)
		if err := seen.add([16]byte(number), [16]byte(fresh)); err != nil {
			return err
		}
	}
	return nil
}

// The child of a raw fork does not draw its parent's next numbers. Several forks are needed, because a buffer
// may end between fork and draw.
func aChildDoesNotRepeat(draws ...func() [16]byte) error {
	if isRace {
		return fmt.Errorf("%w: the race detector does not live in a raw fork's child", errSkip)
	}
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

// drawn has the draws of one process or machine.
type drawn [32][16]byte

func (d *drawn) bytes() []byte { return unsafe.Slice((*byte)(unsafe.Pointer(d)), unsafe.Sizeof(*d)) }

// draw fills d with these functions in turn.
func (d *drawn) draw(draws []func() [16]byte) {
	for i := range d {
		d[i] = draws[i%len(draws)]()
	}
}

// forkOnce compares a child's draws with its parent's; false if there was no answer, because Go's runtime
// does not promise that the child of a raw fork can run.
func forkOnce(draws []func() [16]byte) (answered bool, err error) {
	ours, theirs := new(drawn), new(drawn)
	ours.draw(draws) // allocates all memory before the fork
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
		syscall.RawSyscall(syscall.SYS_PRCTL, unix.PR_SET_PDEATHSIG, uintptr(syscall.SIGKILL), 0)
		syscall.RawSyscall(syscall.SYS_WRITE, uintptr(pipe[1]), uintptr(unsafe.Pointer(ours)), unsafe.Sizeof(*ours))
		syscall.RawSyscall(syscall.SYS_EXIT_GROUP, 0, 0, 0)
	}
	defer func() {
		syscall.Kill(int(child), syscall.SIGKILL)
		syscall.Wait4(int(child), nil, 0, nil)
	}()
	isAtWork := true
	for began := time.Now(); isAtWork && time.Since(began) < time.Minute; time.Sleep(100 * time.Microsecond) {
		isAtWork = !waitsOrEnded(int(child))
		if got, _ := syscall.Read(pipe[0], theirs.bytes()); got == len(theirs.bytes()) {
			return true, theirs.repeats(ours)
		}
	}
	return false, nil
}

// waitsOrEnded reports whether a process waits for something, as for threads that its parent has, or has ended.
func waitsOrEnded(process int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process)) // proc_pid_stat(5)
	_, state, _ := bytes.Cut(status, []byte(") "))
	return err == nil && (state[0] == 'S' || state[0] == 'Z')
}

// repeats returns an error if the two have an output in common.
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

// A page that the kernel drops during a request never causes zeros or keystream of a zero key.
func droppedPagesAreNotServed() error {
	known := zeroStateBlocks()
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

// zeroStateBlocks returns the first block of a zero state, and of zero round keys.
func zeroStateBlocks() map[[16]byte]bool {
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

// Fresh bytes never come from a dropped seed, which without noise would be the same each time.
func droppedPagesGiveNothingFresh() error {
	var mutex sync.Mutex
	seen := outputs[[16]byte]{}
	return whileDropped(func() error {
		var out [16]byte
		Fresh(out[:])
		mutex.Lock()
		defer mutex.Unlock()
		return seen.add(out)
	})
}

// whileDropped lets several goroutines draw while all pages are dropped many times, each after a draw, or in a
// control until one fails.
func whileDropped(draw func() error) error {
	most := 1 << 16 // a control fails after some thousands
	if fewer, err := strconv.Atoi(os.Getenv(dropsVariable)); err == nil {
		most = fewer
	}
	isControl := failpoint.CheckBeforeRead.IsActive() || failpoint.SkipFreshCheck.IsActive()
	runtime.GOMAXPROCS(max(4, runtime.NumCPU())) // so that pages are dropped while a goroutine is pinned
	Word()
	var failed atomic.Pointer[error]
	var stop atomic.Bool
	var drawn atomic.Int64
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for !stop.Load() {
				if err := draw(); err != nil {
					failed.Store(&err)
				}
				drawn.Add(1)
			}
		})
	}
	defer group.Wait()
	defer stop.Store(true)
	for drops, before := 0, int64(-1); failed.Load() == nil && (isControl || drops < most); drops++ {
		for drawn.Load() == before && failed.Load() == nil {
			time.Sleep(time.Microsecond) // lets others have this CPU
		}
		before = drawn.Load()
		all := allShards.Load()
		for number := range all.count {
			page := all.of(number)
			// The whole page of the kernel that it is in.
			within := uintptr(unsafe.Pointer(page)) % uintptr(unix.Getpagesize())
			memory := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(page), -int(within))), unix.Getpagesize())
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

// If the kernel does not show its generation, a seed ends after a minute, and when a clock goes back.
func nothingGetsOld() error {
	now := clocks()
	clocks = func() [2]int64 { return now }
	for _, shift := range [][2]time.Duration{{61 * time.Second, 0}, {0, 61 * time.Second}, {0, -time.Hour}} {
		Word()
		before := Reseeds.Load()
		Word()
		if Reseeds.Load() != before {
			return errors.New("it is seeded at each request")
		}
		for i := range now {
			now[i] += int64(shift[i])
		}
		Word()
		if Reseeds.Load() == before {
			return fmt.Errorf("a seed is used %v after it was made", shift)
		}
	}
	return nil
}

// Only one goroutine at a time uses a page.
func onePageIsOneGoroutines() error {
	runtime.GOMAXPROCS(max(4, runtime.NumCPU()))
	rounds := 20
	if isRace {
		rounds = 2 // each takes ten times as long
	}
	for range rounds {
		if err := drawInGoroutines(16, 50_000, func(int, int) {}); err != nil {
			return err
		}
	}
	return nil
}

// kvmClock stands for the page of kvm-clock's records.
var kvmClock guard.KVMClockPage

// followTick makes kvmClock the signal of clones, unless there is none, and returns errLacks if this machine has no tick
// to follow.
func followTick() error {
	if !failpoint.HideKVMClock.IsActive() {
		guard.ReplaceKVMClock(&kvmClock)
	}
	Word()
	if !guard.FollowsTick() {
		return fmt.Errorf("%w a tick in the vDSO's data", errLacks)
	}
	return nil
}

// clonesDiffer imitates clones of a machine that show the same new record.
func clonesDiffer(draws ...func() [16]byte) error {
	if err := followTick(); err != nil {
		return err
	}
	return drawInCopies(draws, rewriteRecord)
}

// rewriteRecord rewrites this CPU's record, as KVM does in a clone.
func rewriteRecord() error {
	if runtime.GOARCH != "amd64" {
		return fmt.Errorf("%w kvm-clock", errLacks)
	}
	var cpu uint32
	if _, _, errno := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&cpu)), 0, 0); errno != 0 {
		return errno
	}
	kvmClock[cpu][0] += 2
	kvmClock[cpu][1] += 1 << 30
	return nil
}

// If the machine is cloned after a request has found its state to be current, and before it has noted the new record, the
// state is seeded anew.
func clonesWithinRequestsAreSeen() error {
	if err := followTick(); err != nil {
		return err
	}
	if err := stayOnThisCPU(); err != nil {
		return err
	}
	for _, length := range []int{16, 1024} {
		out := make([]byte, length)
		Fill(out)
		discardBuffer(false)
		before := Reseeds.Load()
		theirs := needsPads
		var err error
		needsPads = func(policy *guard.Policy) bool {
			needsPads = theirs
			err = rewriteRecord()
			return false
		}
		if Fill(out); Reseeds.Load() == before {
			err = errors.Join(err, fmt.Errorf("%d bytes: it is not seeded anew", length))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Records that change at each request are soon given up, and requests have pads.
func recordsThatChangeTooOftenAreGivenUp() error {
	if err := followTick(); err != nil {
		return err
	}
	if err := stayOnThisCPU(); err != nil {
		return err
	}
	for range 20_000 {
		if err := rewriteRecord(); err != nil {
			return err
		}
		if Word(); guard.ThisPolicy().HasKVMClock() {
			continue
		}
		if Word(); !allShards.Load().first.NeedsPads {
			return errors.New("no pads")
		}
		return nil
	}
	return errors.New("they are relied on after 20,000 changes")
}

// Requests decide whether this machine's records are relied on, as soon as that can be told.
func requestsSettleKVMClock() error {
	Word()
	for began := time.Now(); time.Since(began) < 20*time.Millisecond; {
		time.Sleep(time.Millisecond)
	}
	for range 100 {
		discardBuffer(false)
		Word()
	}
	policy := guard.ThisPolicy()
	isReliedOn := policy.HasKVMClock()
	if policy.WaitUntilSettled(); policy.HasKVMClock() != isReliedOn {
		return errors.New("they have not decided it")
	}
	return nil
}

// restoredProcessesDiffer imitates copies of a process, which are restored in later ticks.
func restoredProcessesDiffer(draws ...func() [16]byte) error {
	if err := followTick(); err != nil {
		return err
	}
	return drawInCopies(draws, func() error {
		before, now := unix.Timespec{}, unix.Timespec{}
		err := unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &before)
		for now = before; now == before && err == nil; err = unix.ClockGettime(unix.CLOCK_REALTIME_COARSE, &now) {
			time.Sleep(time.Millisecond)
		}
		return err
	})
}

// If the tick moves on during a request, its bytes are drawn again, with additional input: the process may have been
// restored meanwhile. Here the request itself overwrites the tick.
func ticksWithinRequestsAreSeen() error {
	if err := followTick(); err != nil {
		return err
	}
	if err := stayOnThisCPU(); err != nil {
		return err
	}
	memory := unsafe.Slice((*byte)(unsafe.Pointer(allShards.Load().first)), guard.PageSize)
	for _, length := range []int{16, maxBuffered, maxBuffered + 1, drbg.MaxRequest} {
		words := make([]uint64, drbg.MaxRequest/8)
		out := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), length)
		first := make([]byte, length)
		for isSame := false; !isSame; isSame = bytes.Equal(first, out) { // unless a tick or a reseed comes
			Fill(out)
			snapshot := bytes.Clone(memory)
			Fill(first)
			copy(memory, snapshot)
			Fill(out)
			copy(memory, snapshot)
		}
		moveTick := func() *guard.Page {
			page := pin()
			defer guard.Unpin()
			words[0] = 0
			guard.ReplaceTick(&words[0])
			page.SetFreshnessTag(guard.CurrentTag())
			return page
		}
		moveTick()
		if Fill(out); bytes.Equal(first, out) {
			return fmt.Errorf("%d bytes: those of before the tick", length)
		}
		// With an empty buffer, whose refill is discarded.
		page := moveTick()
		page.Left, page.LeftOffFastPath, page.Refill = 0, 0, 2*firstRefill
		if Fill(out); length <= maxBuffered && page.Left+page.LeftOffFastPath != firstRefill-uint64(length) {
			return fmt.Errorf("%d bytes: of a refill before the tick", length)
		}
	}
	return nil
}

// unnoticedCopiesDiffer imitates copies that nothing shows.
func unnoticedCopiesDiffer(draws ...func() [16]byte) error {
	if !failpoint.HideKVMClock.IsActive() {
		guard.ReplaceKVMClock(&kvmClock)
	}
	return drawInCopies(draws, func() error { return nil })
}

// Two requests within one tick of the counter get different pads, even without a random instruction. The
// buffer's bytes are the same for all of these requests, so two outputs are equal if their pads are.
func padsOfOneTickDiffer() error {
	draws := []func() [16]byte{word8, fill16, fill32, func() (out [16]byte) {
		Fill(out[:8]) // whose pad begins like that of a word
		return out
	}}
	seen := outputs[[8]byte]{}
	for range 1000 {
		for _, draw := range draws {
			Word()
			page := pin()
			for i := range page.Buffer {
				page.Buffer[i] = 7
			}
			guard.Unpin()
			reseeds := Reseeds.Load()
			out := draw()
			if Reseeds.Load() != reseeds {
				continue
			}
			if err := seen.add([8]byte(out[:])); err != nil {
				return err
			}
		}
	}
	return nil
}

// inAHiddenVM imitates a clone of a VM that only a vmgenid reveals.
func inAHiddenVM() error {
	if !guard.Decide().HasVMGenID() && !failpoint.HideVMGenID.IsActive() {
		return fmt.Errorf("%w a vmgenid", errLacks)
	}
	return unnoticedCopiesDiffer(fill16)
}

// Clones share words for simulations, as their documentation says.
func clonesShareSimulations() error {
	if err := unnoticedCopiesDiffer(simulation8); err == nil {
		return errors.New("clones differ: the documentation says that they need not, and this trial shows nothing")
	}
	return nil
}

// Refills begin short after a seeding and in a new tick, and double.
func refillsAreInProportion() error {
	if err := followTick(); err != nil {
		return err
	}
	if err := stayOnThisCPU(); err != nil {
		return err
	}
	const small, full = firstRefill, guard.BufferLen
	begin := map[string]func(){
		"a seeding": func() { discardBuffer(true) },
		"a tick":    func() { allShards.Load().first.ForgetTag() },
	}
	for what, begin := range begin {
	again:
		begin()
		reseeds := Reseeds.Load()
		for i, want := range []uint64{small, 2 * small, 4 * small, 8 * small, full, full} {
			length := untilRefill()
			if Reseeds.Load() > reseeds+1 {
				goto again // the kernel reseeded, once a minute
			}
			if length != want {
				return fmt.Errorf("%s: refill %d is of %d bytes, not %d", what, i, length, want)
			}
		}
	}
	return nil
}

// untilRefill draws until the buffer is refilled, and returns the refill's length.
func untilRefill() uint64 {
	const length = 16
	page := allShards.Load().first
	for {
		before := page.Left + page.LeftOffFastPath
		fill16()
		if after := page.Left + page.LeftOffFastPath; after+length != before {
			return after + length
		}
	}
}

// drawInCopies draws, copies the page like a snapshot, draws after the event, restores the page, and draws again. It
// fails if both copies drew the same output.
func drawInCopies(draws []func() [16]byte, event func() error) error {
	if err := stayOnThisCPU(); err != nil {
		return err
	}
	const count = 50
	for range count {
		var before, one, other drawn
		before.draw(draws)
		memory := unsafe.Slice((*byte)(unsafe.Pointer(allShards.Load().first)), guard.PageSize)
		snapshot := bytes.Clone(memory)
		if err := event(); err != nil {
			return err
		}
		one.draw(draws)
		copy(memory, snapshot)
		other.draw(draws)
		if err := other.repeats(&one); err != nil {
			return err
		}
	}
	return nil
}

// stayOnThisCPU pins the thread to its current CPU.
func stayOnThisCPU() error {
	var number int
	if _, _, errno := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&number)), 0, 0); errno != 0 {
		return errno
	}
	var one unix.CPUSet
	one.Set(number)
	return unix.SchedSetaffinity(0, &one)
}

// All kinds of requests are served, and no output repeats.
func everythingWorks() error {
	seen := outputs[[16]byte]{}
	for range 2000 {
		long, fresh := make([]byte, 100_000), make([]byte, 16)
		Fill(long)
		Fresh(fresh)
		err := seen.add(word8(), simulation8(), fill16(), [16]byte(long[99_984:]), [16]byte(fresh))
		if err != nil {
			return err
		}
	}
	return nil
}

// isRace reports whether the race detector is at work.
var isRace = func() bool {
	build, isKnown := debug.ReadBuildInfo()
	return isKnown && slices.Contains(build.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}()
