//go:build linux && (amd64 || arm64) && !purego && squall_testing

package guard

import (
	"runtime"
	_ "unsafe" // for linkname

	"github.com/squall-rng/squall/go/internal/failpoint"
)

// Pin is as in other builds, if no test turned it off: then the goroutine soon runs on another P.
func Pin() int {
	number := procPin()
	if failpoint.Pin.Off() {
		procUnpin()
		runtime.Gosched()
	}
	return number
}

// Unpin ends what [Pin] began.
func Unpin() {
	if !failpoint.Pin.Off() {
		procUnpin()
	}
}

//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()
