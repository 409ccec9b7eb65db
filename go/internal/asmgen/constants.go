package main

import (
	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// nosplit is right for functions without a stack frame.
const nosplit = attr.NOSPLIT

// Constants of the code, each read without a need for alignment.
var (
	// reverse, a shuffle, turns a 128-bit number's bytes around.
	reverse Mem
	// one is the 128-bit number 1; four is the 4 that steps four counters, in four lanes.
	one, four Mem
	// firstFour has the numbers 1 to 4, in four lanes.
	firstFour Mem
	// rotated, a shuffle, gives the last word of a round key, rotated by a byte, in all four words:
	// RotWord of FIPS 197 section 5.2.
	rotated Mem
	// rcon is the first round constant of FIPS 197 section 5.2 in all four words.
	rcon Mem
)

func constants() {
	reverse = words("reverse", 0x08090a0b0c0d0e0f, 0x0001020304050607)
	one = words("one", 1, 0)
	four = words("four", 4, 0, 4, 0, 4, 0, 4, 0)
	firstFour = words("firstFour", 1, 0, 2, 0, 3, 0, 4, 0)
	rotated = words("rotated", 0x0c0f0e0d_0c0f0e0d, 0x0c0f0e0d_0c0f0e0d)
	rcon = words("rcon", 0x00000001_00000001, 0x00000001_00000001)
}

// words defines read-only 64-bit words.
func words(name string, values ...uint64) Mem {
	symbol := GLOBL(name, attr.RODATA|attr.NOPTR)
	for i, value := range values {
		DATA(8*i, U64(value))
	}
	return symbol
}
