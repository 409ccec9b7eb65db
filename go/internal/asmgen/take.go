package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// take writes the copy that clears. Everything is read before what overlaps it is cleared.
func take() {
	function("take", "func(dst []byte, src *byte)",
		"take moves len(dst) bytes from src to dst, at least 16, and leaves zeros in src.")
	src := Mem{Base: RSI}
	Load(Param("src"), src.Base)
	loadSlice()
	zero, first, last := X0, X1, X2
	PXOR(zero, zero)
	srcEnd := Mem{Base: RSI, Index: length, Scale: 1}
	dstEnd := Mem{Base: RDI, Index: length, Scale: 1}

	Comment("the last 16 bytes are read first: the loop may clear some of them")
	MOVOU(srcEnd.Offset(-16), last)
	LEAQ(srcEnd.Offset(-16), RAX)
	LEAQ(dstEnd.Offset(-16), RDX)
	JMP(LabelRef("test"))
	Label("loop")
	MOVOU(src, first)
	MOVOU(first, dst)
	MOVOU(zero, src)
	ADDQ(U8(16), src.Base)
	ADDQ(U8(16), dst.Base)
	Label("test")
	CMPQ(src.Base, RAX)
	JB(LabelRef("loop"))
	MOVOU(last, Mem{Base: RDX})
	MOVOU(zero, Mem{Base: RAX})
	erase()
	clear128(first, last)
	RET()
}
