//go:build !unix

package example

import "time"

// usage is not known here.
func usage() (user, system time.Duration) { return 0, 0 }
