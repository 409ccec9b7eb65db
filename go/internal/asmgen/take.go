package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Copies that clear their source. All bytes are read before overlapping bytes are cleared.

// The source of take, the zeros that it leaves there, and the registers that it copies through.
var (
	src          = Mem{Base: RSI}
	zero         = X0
	vectorCopies = []VecPhysical{X1, X2}
)

func take() {
	function("take", "func(dst []byte, src *byte)",
		"take moves len(dst) bytes from src to dst, at least 16, and leaves zeros in src.")
	Load(Param("src"), src.Base)
	loadSlice()
	moveVectors()
	erase()
	clear128(vectorCopies...)
	RET()
}

func takeAndReadCounter() {
	function("takeAndReadCounter", "func(dst []byte, src *byte, counter uint64) (count uint64, cpu uint64)",
		"takeAndReadCounter moves len(dst) bytes from src to dst and leaves zeros in src, then does what readCounter does.")
	Load(Param("src"), src.Base)
	loadSlice()
	for _, size := range []int{16, 8, 4} {
		CMPQ(length, U8(size))
		JAE(LabelRef(atLeast(size)))
	}
	moveBytes("taken")
	Label(atLeast(4))
	moveWords(4, MOVL, EAX, EDX)
	JMP(LabelRef("taken"))
	Label(atLeast(8))
	moveWords(8, MOVQ, RAX, RDX)
	JMP(LabelRef("taken"))
	Label(atLeast(16))
	moveVectors()
	Label("taken")
	emitReadCounter()
	erase()
	clear128(vectorCopies...)
	RET()
}

// atLeast labels the copy of so many bytes or more.
func atLeast(size int) string { return map[int]string{4: "dword", 8: "qword", 16: "vectors"}[size] }

// moveVectors moves at least 16 bytes.
func moveVectors() {
	first, last := vectorCopies[0], vectorCopies[1]
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
}

// moveWords moves one or two words, which overlap. The counter comes into their registers afterwards.
func moveWords(size int, move func(from, to Op), head, tail Register) {
	srcLast := Mem{Base: RSI, Index: length, Scale: 1}.Offset(-size)
	dstLast := Mem{Base: RDI, Index: length, Scale: 1}.Offset(-size)
	move(src, head)
	move(srcLast, tail)
	move(U32(0), src)
	move(U32(0), srcLast)
	move(head, dst)
	move(tail, dstLast)
}

// moveBytes moves up to 3 bytes and jumps to done. The counter comes into their register afterwards.
func moveBytes(done string) {
	Label("bytes")
	SUBQ(U8(1), length)
	JCS(LabelRef(done))
	MOVB(Mem{Base: RSI, Index: length, Scale: 1}, AL)
	MOVB(U8(0), Mem{Base: RSI, Index: length, Scale: 1})
	MOVB(AL, Mem{Base: RDI, Index: length, Scale: 1})
	JMP(LabelRef("bytes"))
}
