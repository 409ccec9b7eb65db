//go:build linux && arm64 && !purego

package guard

import "golang.org/x/sys/unix"

var candidateAddresses = [...]candidateAddress{
	{2 * kernelPage, 0},   // 6.15 on: a page of its own
	{2 * kernelPage, 480}, // 6.12
	{kernelPage, 480},     // 6.12 in a time namespace
}

// kernelPage is the length of the kernel's pages, in bytes: 4, 16 or 64 KiB.
var kernelPage = unix.Getpagesize()
