//go:build linux && amd64 && !purego

package guard

var candidateAddresses = [...]candidateAddress{
	{0x4000, 0},   // 6.15 on: a page of its own
	{0x4000, 640}, // 6.11 to 6.14
	{0x1000, 640}, // 6.11 and 6.12 in a time namespace
	{0x3000, 640}, // 6.13 and 6.14 in a time namespace
}
