package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// tries is how often the random instruction is asked before it counts as failed (Intel SDM volume
// 1, section 7.3.17.1).
const tries = 10

func pad() {
	function("pad", "func(keys *[240]byte, dst []byte, source int, word uint64, cycles uint64)",
		"pad XORs keystream from block number word<<64 | cycles<<4 on into dst, which is at most 256",
		"bytes and not empty. source says where the numbers come from: 0, the caller; 1, the cycle",
		"counter, word is zero; 2, the cycle counter and the random instruction.")
	Load(Param("source"), RBX)
	Load(Param("word"), high)
	Load(Param("cycles"), RAX)
	Load(Param("keys"), keys.Base)
	loadSlice()
	MOVOU(one, step)
	MOVOU(reverse, shuffle)
	CMPQ(RBX, U8(1))
	JB(LabelRef("known"))
	XORQ(high, high)
	CMPQ(RBX, U8(2))
	JB(LabelRef("drawn"))
	drawRandomWord(high, "drawn")
	Label("drawn")
	readCycles()
	Label("known")
	SHLQ(U8(4), RAX)
	MOVQ(RAX, next)
	PINSRQ(U8(1), high, next)
	stream128(combine)
}

func xorNoise() {
	function("xorNoise", "func(out *[3]uint64, words uint64)",
		"xorNoise XORs into out the cycle counter and up to two words of the random instruction.")
	out, words := Mem{Base: RDI}, R11
	Load(Param("out"), out.Base)
	Load(Param("words"), words)
	XORQ(R8, R8)
	XORQ(R9, R9)
	CMPQ(words, U8(1))
	JB(LabelRef("drawn"))
	drawRandomWord(R8, "first")
	Label("first")
	CMPQ(words, U8(1))
	JEQ(LabelRef("drawn"))
	drawRandomWord(R9, "drawn")
	Label("drawn")
	readCycles()
	XORQ(RAX, out)
	XORQ(R8, out.Offset(8))
	XORQ(R9, out.Offset(16))
	erase()
	clearNumbers()
	RET()
}

// cycles reads the cycle counter into RAX.
func readCycles() {
	RDTSC()
	SHLQ(U8(32), RDX)
	ORQ(RDX, RAX)
}

// random draws a word and jumps to done with it; goes on with zero if the instruction fails.
func drawRandomWord(word GPPhysical, done string) {
	retry := done + "Retry"
	MOVL(U32(tries), EBX)
	Label(retry)
	rdrand(word)
	JCS(LabelRef(done))
	SUBL(U8(1), EBX)
	JNE(LabelRef(retry))
	XORQ(word, word)
}
