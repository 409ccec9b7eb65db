//go:build squall_testing

package failpoint

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"sync/atomic"
)

// IsEnabled reports whether this build has failpoints.
const IsEnabled = true

var switches atomic.Uint64

// IsActive reports whether a test activated the failpoint.
func (s Failpoint) IsActive() bool { return switches.Load()>>s&1 != 0 }

// source has the constants in the order of their values.
//
//go:embed failpoint.go
var source string

var constant = regexp.MustCompile(`(?m)^\t([A-Z]\w+)(?: Failpoint = iota)?$`)

// Activate activates the failpoints whose constants have these names, in the whole process and permanently. It must be
// called before any request.
func Activate(names []string) error {
	constants := constant.FindAllStringSubmatch(source, -1)
	for _, name := range names {
		number := slices.IndexFunc(constants, func(found []string) bool { return found[1] == name })
		if number < 0 {
			return fmt.Errorf("no failpoint is called %q", name)
		}
		switches.Or(1 << number)
	}
	return nil
}
