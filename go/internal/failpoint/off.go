//go:build !squall_testing

package failpoint

// Off reports whether a test turned the guard off, which no test can in this build.
func (Failpoint) Off() bool { return false }

// Gap returns the usual gap, in cycles: no test can set another in this build.
func Gap(usual uint64) uint64 { return usual }
