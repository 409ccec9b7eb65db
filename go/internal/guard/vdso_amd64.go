//go:build linux && amd64 && !purego

package guard

import "unsafe"

// getrandomName is the function's name in the image.
const getrandomName = "__vdso_getrandom"

// callGetrandom calls getrandom with flags of 0; a negative value is an errno.
//
//go:noescape
func callGetrandom(function uintptr, out unsafe.Pointer, length uintptr, state unsafe.Pointer, stateLength uintptr) int64
