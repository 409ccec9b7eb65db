//go:build !squall_testing

package failpoint

// Off tells whether a test turned the guard off: none can.
func (Failpoint) Off() bool { return false }

// Gap is the usual one, in cycles: no test can set another.
func Gap(usual uint64) uint64 { return usual }
