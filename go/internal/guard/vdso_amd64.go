//go:build linux && amd64 && !purego

package guard

import "unsafe"

// getrandomName is the function's name in the vDSO.
const getrandomName = "__vdso_getrandom"

// callGetrandom calls the vDSO's getrandom with flags of 0. A negative result is an errno.
//
//go:noescape
func callGetrandom(function uintptr, out unsafe.Pointer, length uintptr, state unsafe.Pointer, stateLength uintptr) int64
