//go:build !squall_testing

package failpoint

// IsActive reports whether a test activated the failpoint, which no test can in this build.
func (Failpoint) IsActive() bool { return false }

// Gap returns the usual gap, in cycles: no test can set another in this build.
func Gap(usual uint64) uint64 { return usual }
