//go:build unix

package example

import (
	"syscall"
	"time"
)

// usage returns the CPU time of this process, from getrusage(2).
func usage() (user, system time.Duration) {
	var all syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &all) != nil {
		return 0, 0
	}
	return time.Duration(all.Utime.Nano()), time.Duration(all.Stime.Nano())
}
