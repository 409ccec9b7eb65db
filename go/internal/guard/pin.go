//go:build linux && (amd64 || arm64) && !purego && !squall_testing

package guard

import _ "unsafe" // for linkname

// Pin keeps the goroutine on its P, and everybody else off it, until [Unpin]; the number of the P is
// from 0 to GOMAXPROCS, less one. It is what sync.Pool is built on. Between the two, nothing may wait,
// and no system call be told to the scheduler.
//
// Go's runtime keeps both names, and their types, for packages outside of it (go.dev/issue/67401).
//
//go:linkname Pin runtime.procPin
func Pin() int

// Unpin ends what [Pin] began.
//
//go:linkname Unpin runtime.procUnpin
func Unpin()
