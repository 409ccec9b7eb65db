package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

func xor() {
	function("xor", "func(out *[48]byte, first *[48]byte, second *[48]byte)",
		"xor writes the XOR of first and second, or first where second is nil.")
	out, first, second := Mem{Base: RDI}, Mem{Base: RSI}, Mem{Base: RAX}
	Load(Param("out"), out.Base)
	Load(Param("first"), first.Base)
	Load(Param("second"), second.Base)
	words := blocks128[:3]
	for i, word := range words {
		MOVOU(first.Offset(blockSize*i), word)
	}
	TESTQ(second.Base, second.Base)
	JEQ(LabelRef("summed"))
	for i, word := range words {
		MOVOU(second.Offset(blockSize*i), scratch)
		PXOR(scratch, word)
	}
	Label("summed")
	for i, word := range words {
		MOVOU(word, out.Offset(blockSize*i))
	}
	erase()
	clear128(words...)
	clear128(scratch)
	RET()
}
