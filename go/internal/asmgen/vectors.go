package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// vectorRegisters writes what tests need to see that no secret stays behind.
func vectorRegisters() {
	function("vectors", "func(out *[2048]byte)",
		"vectors writes the 32 vector registers of AVX-512, each of 64 bytes, and clears them. Only tests",
		"use it.")
	out := Mem{Base: RAX}
	Load(Param("out"), out.Base)
	registers := []VecPhysical{
		Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15,
		Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23, Z24, Z25, Z26, Z27, Z28, Z29, Z30, Z31,
	}
	for i, register := range registers {
		VMOVDQU64(register, out.Offset(vectorSize*i))
		VPXORQ(register, register, register)
	}
	VZEROUPPER()
	RET()
}
