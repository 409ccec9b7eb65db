// Package example has the code that the two programs share: sources of random bytes, flags, and the cost of a run.
package example

import (
	crypto "crypto/rand"
	"flag"
	"fmt"
	"io"
	"maps"
	math "math/rand"
	"os"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	squall "github.com/squall-rng/squall/go"
)

// Readers has, by the name of a source, a function that returns one goroutine's reader. math returns a new
// generator of math/rand, as in the article's second program; it is not for secrets.
var Readers = map[string]func() io.Reader{
	"squall": func() io.Reader { return squall.Reader },
	"crypto": func() io.Reader { return crypto.Reader },
	"math":   func() io.Reader { return math.New(math.NewSource(math.Int63())) },
}

// Flags are the flags that both programs share; each program adds its own.
type Flags struct {
	// Source is the name of a source.
	Source string
	// Goroutines is the number of goroutines.
	Goroutines int
	// Profile is the file of a CPU profile; none is written if it is empty.
	Profile string
}

// NewFlags returns the flags of a program with these sources and this default number of goroutines.
func NewFlags[T any](sources map[string]T, goroutines int) *Flags {
	f := new(Flags)
	flag.StringVar(&f.Source, "source", "squall", "draw from `one` of "+names(sources))
	flag.IntVar(&f.Goroutines, "goroutines", goroutines, "`number` of goroutines")
	flag.StringVar(&f.Profile, "profile", "", "write a CPU profile to `FILE`")
	return f
}

// Parse reads the arguments, and returns the source.
func Parse[T any](f *Flags, sources map[string]T) T {
	flag.Parse()
	Check(flag.NArg() == 0, 2, "unexpected argument %q: use the flags of -h", flag.Arg(0))
	Check(1 <= f.Goroutines && f.Goroutines <= 100_000, 2, "-goroutines %d: write a number from 1 to 100000", f.Goroutines)
	source, isKnown := sources[f.Source]
	Check(isKnown, 2, "-source %q: write one of %s", f.Source, names(sources))
	return source
}

func names[T any](sources map[string]T) string {
	return strings.Join(slices.Sorted(maps.Keys(sources)), ", ")
}

// Check ends the program with this status and message if something is not so.
func Check(isSo bool, status int, format string, parts ...any) {
	if !isSo {
		fmt.Fprintf(os.Stderr, format+"\n", parts...)
		os.Exit(status)
	}
}

// Cost is the cost of a run: the elapsed time, and the time of all CPUs in the program (User) and in the
// kernel (System), for system calls and page faults. CPU times are coarse in a run of less than a second.
type Cost struct{ Time, User, System time.Duration }

// usage returns the CPU time of this process; zeros on systems other than Linux.
var usage = func() (user, system time.Duration) { return 0, 0 }

// Measure runs work, and writes a CPU profile if a file is named.
func Measure(profile string, work func()) (cost Cost) {
	if profile != "" {
		file, err := os.Create(profile)
		Check(err == nil, 1, "the profile cannot be written: %v", err)
		defer file.Close()
		err = pprof.StartCPUProfile(file)
		Check(err == nil, 1, "no profile can be taken: %v", err)
		defer pprof.StopCPUProfile()
	}
	user, system := usage()
	began := time.Now()
	work()
	cost.Time = time.Since(began)
	userAfter, systemAfter := usage()
	cost.User, cost.System = userAfter-user, systemAfter-system
	return cost
}

// String returns the cost in one line.
func (c Cost) String() string {
	cpu := c.User + c.System
	if cpu == 0 {
		return fmt.Sprintf("%.3f s; CPU time is not known", c.Time.Seconds())
	}
	return fmt.Sprintf("%.3f s; CPU: %.3f s user, %.3f s system, %.1f %% in the kernel",
		c.Time.Seconds(), c.User.Seconds(), c.System.Seconds(), 100*c.System.Seconds()/cpu.Seconds())
}
