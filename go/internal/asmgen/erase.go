package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/reg"
)

// Every function leaves zeros in all vector registers, and nothing secret in the others.

// erase marks the instructions behind it as what erases registers. The control of the test that looks
// into them (package registers) leaves out what is marked.
func erase() { Comment("erase") }

// clear128 clears registers that only instructions without AVX wrote.
func clear128(registers ...VecPhysical) {
	for _, register := range registers {
		PXOR(register, register)
	}
}

// clearNumbers clears the halves of a block number.
func clearNumbers() {
	for _, half := range []Register{RAX, RDX, high, low} {
		XORQ(half, half)
	}
}
