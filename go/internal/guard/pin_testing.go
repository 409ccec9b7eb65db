//go:build linux && amd64 && !purego && squall_testing

package guard

import (
	_ "unsafe" // for linkname

	"github.com/squall-rng/squall/go/internal/seam"
)

// Pin is as in other builds, if no test turned it off.
func Pin() int {
	number := procPin()
	if seam.Pin.Off() {
		procUnpin()
	}
	return number
}

// Unpin ends what [Pin] began.
func Unpin() {
	if !seam.Pin.Off() {
		procUnpin()
	}
}

//go:linkname procPin runtime.procPin
func procPin() int

//go:linkname procUnpin runtime.procUnpin
func procUnpin()
