package example

import (
	"fmt"
	"os"
	"runtime/pprof"
	"time"
)

// Cost is the cost of a run: the elapsed time, and the time of all CPUs in the program (User) and in the
// kernel (System), for system calls and page faults. CPU times are coarse in a run of less than a second.
type Cost struct{ Time, User, System time.Duration }

// Measure runs work, and writes a CPU profile if a file is named.
func Measure(profile string, work func() error) (cost Cost, err error) {
	timed := func() error {
		user, system := usage()
		began := time.Now()
		err := work()
		cost.Time = time.Since(began)
		userAfter, systemAfter := usage()
		cost.User, cost.System = userAfter-user, systemAfter-system
		return err
	}
	if profile == "" {
		return cost, timed()
	}
	return cost, runWithProfile(profile, timed)
}

func runWithProfile(name string, work func() error) error {
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := pprof.StartCPUProfile(file); err != nil {
		return err
	}
	err = work()
	pprof.StopCPUProfile()
	if err != nil {
		return err
	}
	return file.Close()
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
