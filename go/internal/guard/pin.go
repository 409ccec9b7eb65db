//go:build linux && (amd64 || arm64) && !purego && !squall_testing

package guard

import _ "unsafe" // for linkname

// Pin keeps the goroutine on its P, and all others off it, until [Unpin]. It returns the number of the P,
// from 0 to GOMAXPROCS - 1. sync.Pool is built on it. Between the two calls, nothing may wait, and no
// system call may notify the scheduler.
//
// Go's runtime keeps both names and their types for outside packages (go.dev/issue/67401).
//
//go:linkname Pin runtime.procPin
func Pin() int

// Unpin ends the effect of [Pin].
//
//go:linkname Unpin runtime.procUnpin
func Unpin()
