package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// take writes the copy that clears. Everything is read before what overlaps it is cleared.
func take() {
	function("take", "func(dst []byte, src *byte)",
		"take moves len(dst) bytes from src to dst, at least one, and leaves zeros in src.")
	src := Mem{Base: RSI}
	Load(Param("src"), src.Base)
	loadSlice()
	zero, first, last := X0, X1, X2
	PXOR(zero, zero)
	srcEnd := Mem{Base: RSI, Index: length, Scale: 1}
	dstEnd := Mem{Base: RDI, Index: length, Scale: 1}
	CMPQ(length, U8(16))
	JB(LabelRef("below16"))

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
	clear128(first, last)
	RET()

	for _, half := range []struct {
		size       int
		next       string
		move       func(from, to Op)
		first, end Register
		zero       Register
	}{
		{8, "below8", func(from, to Op) { MOVQ(from, to) }, RAX, RDX, RBX},
		{4, "below4", func(from, to Op) { MOVL(from, to) }, EAX, EDX, EBX},
		{2, "below2", func(from, to Op) { MOVW(from, to) }, AX, DX, BX},
	} {
		Label(map[int]string{8: "below16", 4: "below8", 2: "below4"}[half.size])
		CMPQ(length, U8(half.size))
		JB(LabelRef(half.next))
		XORL(EBX, EBX)
		half.move(src, half.first)
		half.move(srcEnd.Offset(-half.size), half.end)
		half.move(half.first, dst)
		half.move(half.end, dstEnd.Offset(-half.size))
		half.move(half.zero, src)
		half.move(half.zero, srcEnd.Offset(-half.size))
		XORL(EAX, EAX)
		XORL(EDX, EDX)
		RET()
	}
	Label("below2")
	XORL(EBX, EBX)
	MOVB(src, AL)
	MOVB(AL, dst)
	MOVB(BL, src)
	XORL(EAX, EAX)
	RET()
}
