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
	"clone, 512 bytes": func() error { return drawInClones([]func() [16]byte{fill512}, aStop) }, // also without bursts
	"clone, all":       func() error { return clonesDiffer(word8, word4, fill16, fill32) },
	"no anchors":       everyRequestIsDifferent,
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
	if err := failpoint.Activate(strings.Fields(os.Getenv(failpointsVariable)), 0); err != nil {
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

// Failpoints that give bursts on any machine with the instructions.
const (
	lateNotification = "PretendVM HideCloneSignal PretendKVM"
	reseedPending    = "HideHypervisorAnnouncement HideVMGenID HideCloneSignal PretendReseedPending PretendKVM"
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
		// A pad would keep a child from repeating, too.
		{"fork", "SkipUnnotifiedCloneGuard", "SkipForkGuard"},
		{"fork", "", "SkipForkGuard SkipUnnotifiedCloneGuard"},
		{"fork", "RefuseDroppable SkipUnnotifiedCloneGuard", "SkipForkGuard"},
		{"fork", "HideGenerationAddress SkipUnnotifiedCloneGuard", "SkipForkGuard"},
		{"fork", "HideVDSO PretendVM SkipUnnotifiedCloneGuard", "SkipForkGuard"},
		{"fork, simulation", "", "SkipForkGuard"},
		{"dropped", "", "CheckBeforeRead"},
		{"dropped", "SkipUnnotifiedCloneGuard", "CheckBeforeRead"},
		{"fresh", "SkipNoise", "SkipFreshCheck"},
		{"age", "HideVDSO", "FreezeSeedAge"},
		{"pin", "SkipUnnotifiedCloneGuard", "SkipPin"},
		// With late notification: by a vmgenid, if there is one.
		{"clone, 64 bits", lateNotification, "IgnoreStops"},
		{"clone, 64 bits", lateNotification, "SkipBurstAnchors"},
		{"clone, 64 bits", lateNotification, "SkipUnnotifiedCloneGuard"},
		{"clone, 32 bits", lateNotification, "IgnoreStops"},
		{"clone, 32 bits", lateNotification, "SkipBurstAnchors"},
		{"clone, 16 bytes", lateNotification, "IgnoreStops"},
		{"clone, 16 bytes", lateNotification, "SkipBurstAnchors"},
		{"clone, 32 bytes", lateNotification, "IgnoreStops"},
		{"clone, 32 bytes", lateNotification, "SkipBurstAnchors"},
		{"clone, 512 bytes", lateNotification, "SkipUnnotifiedCloneGuard"},
		{"clone, all", lateNotification + " HideGenerationAddress", "IgnoreStops"},
		{"clone, all", lateNotification + " HideGenerationAddress", "SkipBurstAnchors"},
		// In a VM with no signal at all.
		{"clone, all", lateNotification + " HideVMGenID", "IgnoreStops"},
		{"clone, all", lateNotification + " HideVMGenID", "SkipBurstAnchors"},
		{"clone, all", lateNotification + " HideVMGenID HideVDSO", "IgnoreStops"},
		{"clone, 512 bytes", lateNotification + " HideVMGenID", "SkipUnnotifiedCloneGuard"},
		// After a change of the signal of clones, until the kernel has reseeded.
		{"clone, all", reseedPending, "IgnoreStops"},
		{"clone, all", reseedPending, "SkipBurstAnchors"},
		{"clone, 512 bytes", reseedPending, "SkipUnnotifiedCloneGuard"},
		// Under a hypervisor that is not known, and where the random instruction fails.
		{"no anchors", "PretendVM HideCloneSignal HideKVM", "SkipUnnotifiedCloneGuard"},
		{"no anchors", lateNotification + " SkipNoise", "SkipBurstAnchors"},
		// Where the counter stands still and there is no random instruction.
		{"pads", "PretendVM HideCloneSignal HideKVM SkipPadNoise", "ZeroPadNumbers"},
		{"pads", lateNotification + " SkipPadNoise", "ZeroPadNumbers"},
		{"hidden", "HideHypervisorAnnouncement HideCloneSignal", "HideVMGenID"},
		{"simulation", lateNotification, ""},
		{"lengths", lateNotification, ""},
		{"lengths", lateNotification + " HideGenerationAddress", ""},
		{"locked", "RefuseDroppable", ""},
		{"cpu", "ZeroKernelBytes", "SkipNoise"},
		{"long", "", "FreezeGeneration"},
		{"afresh", "", "FreezeGeneration"},
		{"forced", "", ""},
		{"works", "", ""},
		{"works", "HideVDSO", ""},
		{"works", "RefuseDroppable", ""},
		{"works", "HideGenerationAddress", ""},
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

var fill16, fill32, fill512 = filled(16), filled(32), filled(512)

// filled returns a function that draws some bytes, of which the buffer serves up to 256, and returns the first 16.
func filled(length int) func() [16]byte {
	return func() [16]byte {
		var out [512]byte
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
	flags, err := flagsOf(unsafe.Pointer(allShards.Load().pages[0]))
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
		clear(unsafe.Slice((*byte)(unsafe.Pointer(allShards.Load().pages[0])), guard.PageSize))
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
		for _, page := range allShards.Load().pages {
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

// trialGap is a gap, in cycles, that interruptions on the test machine seldom exceed: trials imitate stops,
// and other interruptions must not count.
const trialGap = 10_000_000

// aStop takes longer than the gap, as a stop does.
func aStop() {
	for began := cycles(); cycles()-began <= trialGap; {
	}
}

// clonesDiffer imitates a stop within a burst, after which two clones draw.
func clonesDiffer(draws ...func() [16]byte) error {
	if err := needsBursts(); err != nil {
		return err
	}
	return drawInClones(draws, aStop)
}

// needsBursts returns errLacks or errSkip if this machine has no bursts, and the trial is not of a machine without.
func needsBursts() error {
	policy := guard.Decide()
	Word()
	rule, _ := ruleFor(policy, policy.Generation())
	switch {
	case rule == guard.PadAfterPause || failpoint.SkipUnnotifiedCloneGuard.IsActive() || !failpoint.PretendKVM.IsActive():
		return nil
	case guard.BestCounter() == aes256.NoCounter || !aes256.HasRandom():
		return fmt.Errorf("%w a counter that tells of its CPU, or a random instruction", errLacks)
	default:
		return fmt.Errorf("%w: no bursts", errSkip)
	}
}

// If no refill is an anchor, every request has a pad: clones differ even without a detected stop.
func everyRequestIsDifferent() error {
	if err := needsBursts(); err != nil {
		return err
	}
	return drawInClones([]func() [16]byte{word8, word4, fill16, fill32}, func() {})
}

// Two requests within one tick of the counter get different pads, even without a random instruction. The
// buffer's bytes are the same for all of these requests, so two outputs are equal if their pads are.
func padsOfOneTickDiffer() error {
	if err := needsBursts(); err != nil {
		return err
	}
	failpoint.SetGap(1) // so that there are no bursts
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
	if !guard.Decide().HasVMGenID && !failpoint.HideVMGenID.IsActive() {
		return fmt.Errorf("%w a vmgenid", errLacks)
	}
	return drawInClones([]func() [16]byte{fill16}, aStop)
}

// Clones share words for simulations, as their documentation says.
func clonesShareSimulations() error {
	if err := needsBursts(); err != nil {
		return err
	}
	if err := drawInClones([]func() [16]byte{simulation8}, aStop); err == nil {
		return errors.New("clones differ: the documentation says that they need not, and this trial shows nothing")
	}
	return nil
}

// Refills begin short after a pause and double in a burst. After one that took too long they are half as long
// for a while. They come early only after padded requests in quick succession; if even short refills take
// too long, after more of them.
func refillsAreInProportion() error {
	if err := needsBursts(); err != nil {
		return err
	}
	if err := stayOnThisCPU(); err != nil {
		return err
	}
	const small, full = firstRefill, guard.BufferLen
	const nothingFits, allFits = 1, 1 << 60
	steps := []struct {
		what string
		gap  uint64
		// requests is the number of 16-byte requests before the refills.
		requests int
		refills  []uint64
	}{
		{"a burst", allFits, 0, []uint64{small, 2 * small, 4 * small, 8 * small, full, full}},
		{"a pause", nothingFits, 1, nil},
		{"a burst behind it", allFits, 7, []uint64{small, 2 * small}},
		{"one that takes too long", nothingFits, 0, []uint64{4 * small}},
		{"shorter for a while", allFits, 7, slices.Repeat([]uint64{2 * small}, shortRefills+1)},
		{"longer again", allFits, 0, []uint64{4 * small, 8 * small}},
		{"nothing fits", nothingFits, 0, []uint64{full, full / 2, full / 4, full / 8, small, 2 * small, 4 * small}},
		{"a burst behind more pads", allFits, 15, []uint64{small, small}},
	}
	runSteps := func() (bool, error) {
		reseeds := Reseeds.Load()
		discardBuffer(true)
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
		if isOver, err := runSteps(); isOver {
			return err
		}
	}
}

// untilRefill draws until the buffer is refilled, and returns the refill's length.
func untilRefill() uint64 {
	const length = 16
	page := allShards.Load().pages[0]
	for {
		before := page.Left + page.LeftOffFastPath
		fill16()
		if after := page.Left + page.LeftOffFastPath; after+length != before {
			return after + length
		}
	}
}

// drawInClones draws, copies the page like a snapshot, draws, restores the page, and draws again, with a stop
// before each of the last two. It fails if both clones drew the same output.
func drawInClones(draws []func() [16]byte, stop func()) error {
	if err := stayOnThisCPU(); err != nil {
		return err
	}
	failpoint.SetGap(trialGap)
	const count = 50
	for range count {
		var before, one, other drawn
		before.draw(draws)
		memory := unsafe.Slice((*byte)(unsafe.Pointer(allShards.Load().pages[0])), guard.PageSize)
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
