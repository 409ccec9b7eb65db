//go:build !squall_testing

package failpoint

import "errors"

// IsEnabled reports whether this build has failpoints.
const IsEnabled = false

// IsActive reports whether a test activated the failpoint, which no test can in this build.
func (Failpoint) IsActive() bool { return false }

// Activate refuses names: this build has no failpoints.
func Activate(names []string) error {
	if len(names) > 0 {
		return errors.New("this build cannot change guards: build it with -tags squall_testing")
	}
	return nil
}
