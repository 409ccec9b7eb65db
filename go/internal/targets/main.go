// Command targets measures squall beside Go's own generators in one run, and prints each of the
// module's targets beside the figure.
//
// The peers take turns within each round, and each ratio is the median of the rounds' ratios, so that
// a disturbance longer than a round affects both; a shorter one affects neither. The exit code is 1 if a target is missed.
//
// Built with the tag squall_testing, it activates the failpoints that its arguments name, which imitate other
// machines: HideKVMClock one where requests get pads.
package main

import (
	"crypto/rand"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	squall "github.com/squall-rng/squall/go"
	"github.com/squall-rng/squall/go/internal/failpoint"
)

const (
	rounds = 25
	// sample is the time for which each peer is measured in a round.
	sample = 20 * time.Millisecond
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == "first" {
		printFirstTime()
		return
	}
	if err := failpoint.Activate(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "targets:", err)
		os.Exit(2)
	}
	for _, name := range os.Args[1:] {
		fmt.Println("failpoint", name)
	}
	fmt.Printf("%s, %d CPUs, %s\n%s\n\n", runtime.Version(), runtime.NumCPU(), cpu(), squall.Status())
	isMet := true
	for _, target := range targets() {
		isMet = target.print() && isMet
	}
	if !isMet {
		os.Exit(1)
	}
}

// target is a figure and its bound.
type target struct {
	name   string
	figure float64
	unit   string
	// details are the measurements behind the figure.
	details string
	// atLeast tells that the figure must not be less than the bound; else not more.
	atLeast bool
	bound   float64
}

func (t *target) print() bool {
	isMet := t.figure <= t.bound
	relation := "at most"
	if t.atLeast {
		isMet, relation = t.figure >= t.bound, "at least"
	}
	verdict := map[bool]string{true: "met", false: "MISSED"}[isMet]
	fmt.Printf("%-34s %9.2f %-3s %-8s %6.4g  %-6s  %s\n", t.name, t.figure, t.unit, relation, t.bound, verdict, t.details)
	return isMet
}

func targets() []target {
	var all []target
	for _, short := range []struct {
		length int
		bound  float64
	}{{4, 2.25}, {16, 4}, {32, 4}} {
		all = append(all, timesAsFast(fmt.Sprintf("Read of %d bytes / crypto/rand", short.length), short.length, short.bound))
	}
	simulation := func() { squall.SimulationSource{}.Uint64() }
	words := func() { mathrand.Uint64() }
	return append(all,
		timesAsFast("Read of 1 MiB / crypto/rand", 1<<20, 20),
		compare("Uint64 / math/rand/v2", func() { squall.Uint64() }, words, 2),
		compare("SimulationSource / math/rand/v2", simulation, words, 1.75),
		goroutines(), firstByte(),
	)
}

// timesAsFast compares Read with crypto/rand's: it must be so many times as fast.
func timesAsFast(name string, length int, bound float64) target {
	buffer := make([]byte, length)
	t := compare(name, func() { rand.Read(buffer) }, func() { squall.Read(buffer) }, bound)
	t.atLeast = true
	return t
}

// goroutines measures the same work by a thousand goroutines relative to one goroutine per CPU.
func goroutines() target {
	const draws = 4_000_000
	spread := func(count int) func() {
		return func() {
			var group sync.WaitGroup
			for range count {
				group.Go(func() {
					var sum uint64
					for range draws / count {
						sum += squall.Uint64()
					}
					if sum == 0 {
						fmt.Println("zero")
					}
				})
			}
			group.Wait()
		}
	}
	few := runtime.NumCPU()
	return compare(fmt.Sprintf("1000 goroutines / %d", few), spread(1000), spread(few), 1.1)
}

// compare measures the median ratio of one call's time to another's, which must not exceed the bound.
func compare(name string, one, other func(), bound float64) target {
	var ratios, ones, others []float64
	for range rounds {
		a, b := perCall(one), perCall(other)
		ratios, ones, others = append(ratios, a/b), append(ones, a), append(others, b)
	}
	details := fmt.Sprintf("%.1f and %.1f ns", median(ones), median(others))
	return target{name: name, figure: median(ratios), unit: "×", details: details, bound: bound}
}

// perCall returns the time of a call in nanoseconds: the least of short batches, because some of these run undisturbed
// on a busy machine too.
func perCall(call func()) float64 {
	const batch = 100 * time.Microsecond
	least := math.Inf(1)
	for calls, start := 1, time.Now(); time.Since(start) < sample; {
		began := time.Now()
		for range calls {
			call()
		}
		took := time.Since(began)
		least = min(least, float64(took.Nanoseconds())/float64(calls))
		if took < batch {
			calls *= 2
		}
	}
	return least
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// firstByte measures the first 32 bytes of a new process, from within the process.
func firstByte() target {
	var times []float64
	for range 2 * rounds {
		command := exec.Command(os.Args[0], "first")
		output, err := command.Output()
		if err != nil {
			fmt.Fprintln(os.Stderr, "targets: cannot start itself:", err)
			os.Exit(1)
		}
		nanoseconds, _ := strconv.Atoi(string(output))
		times = append(times, float64(nanoseconds)/1e3)
	}
	details := fmt.Sprintf("best %.1f µs", slices.Min(times))
	return target{name: "first 32 bytes of a process", figure: median(times), unit: "µs", details: details, bound: 100}
}

// printFirstTime prints the time of the first 32 bytes in nanoseconds.
func printFirstTime() {
	var bytes [32]byte
	began := time.Now()
	squall.Fill(bytes[:])
	fmt.Print(time.Since(began).Nanoseconds())
}

// cpu returns the CPU's name from /proc/cpuinfo.
func cpu() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	_, rest, _ := strings.Cut(string(info), "model name\t: ")
	name, _, _ := strings.Cut(rest, "\n")
	return name
}
