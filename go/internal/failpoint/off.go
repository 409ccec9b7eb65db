//go:build !squall_testing

package failpoint

import "errors"

// IsEnabled reports whether this build has failpoints.
const IsEnabled = false

// IsActive reports whether a test activated the failpoint, which no test can in this build.
func (Failpoint) IsActive() bool { return false }

// Gap returns the usual gap, in cycles: no test can set another in this build.
func Gap(usual uint64) uint64 { return usual }

// Activate refuses names and a gap: this build has no failpoints.
func Activate(names []string, gap uint64) error {
	if len(names) > 0 || gap != 0 {
		return errors.New("this build cannot change guards: build it with -tags squall_testing")
	}
	return nil
}
