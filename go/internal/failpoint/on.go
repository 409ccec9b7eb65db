//go:build squall_testing

package failpoint

import "sync/atomic"

var switches atomic.Uint64

// Off tells whether a test turned the guard off.
func (s Failpoint) Off() bool { return switches.Load()>>s&1 != 0 }

// TurnOff turns the guard off, in the whole process and for good. To be called before anything
// is drawn.
func (s Failpoint) TurnOff() { switches.Or(1 << s) }
