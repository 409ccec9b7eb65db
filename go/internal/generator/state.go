//go:build linux && (amd64 || arm64) && !purego && !squall_testing

package generator

import "runtime"

// mayKeepState is false on arm64, whose generator is not finished: without RNDR, two requests within one
// tick of the cycle counter get the same pad, and no barrier orders the reading of bytes before the check of
// their page. Until both are mended, the kernel serves all requests there. Tests use it with the tag
// squall_testing.
const mayKeepState = runtime.GOARCH == "amd64"
