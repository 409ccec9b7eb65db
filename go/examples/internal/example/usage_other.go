//go:build !unix

package example

import "time"

// usage returns zeros: this system has no getrusage(2).
func usage() (user, system time.Duration) { return 0, 0 }
