//go:build linux && (amd64 || arm64) && !purego && squall_testing

package generator

// mayKeepState is true, so that tests reach the unfinished generator on arm64.
const mayKeepState = true
