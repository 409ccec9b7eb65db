//go:build !squall_testing

package failpoint

// Off tells whether a test turned the guard off: none can.
func (Failpoint) Off() bool { return false }
