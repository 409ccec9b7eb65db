//go:build linux && arm64 && !purego

package guard

import "golang.org/x/sys/unix"

// places are those of the kernels so far, which have pages of 4, 16 or 64 KiB.
var places = []place{
	{2 * kernelPage, 0},   // 7.0 on: a page of its own
	{2 * kernelPage, 480}, // 6.12
	{kernelPage, 480},     // 6.12 in a time namespace
}

var kernelPage = unix.Getpagesize()
