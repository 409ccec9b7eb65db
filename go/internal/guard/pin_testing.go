//go:build linux && (amd64 || arm64) && !purego && squall_testing

package guard

import (
	"runtime"
	_ "unsafe" // for linkname

	"github.com/squall-rng/squall/go/internal/failpoint"
)

// Pin does the same as in other builds. If a test skips it, the goroutine soon runs on another P.
func Pin() int {
	number := procPin()
	if failpoint.SkipPin.IsActive() {
		procUnpin()
		runtime.Gosched()
	}
	return number
}

// Unpin ends the effect of [Pin].
func Unpin() {
	if !failpoint.SkipPin.IsActive() {
		procUnpin()
	}
}

//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()
