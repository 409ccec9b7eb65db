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
	function("pad", "func(keys *[240]byte, dst []byte, source int, word uint64, cycles uint64) (missing uint64)",
		"pad XORs keystream from block number word<<64 | cycles<<4 on into dst, which is at most 256",
		"bytes and not empty. source says where the numbers come from: 0, the caller; 1, the cycle",
		"counter replaces cycles; 2, and a word of the random instruction is XORed into word. missing is 1",
		"if the instruction gave no word.")
	Load(Param("source"), RBX)
	Load(Param("word"), high)
	Load(Param("cycles"), RAX)
	Load(Param("keys"), keys.Base)
	loadSlice()
	MOVOU(one, step)
	MOVOU(reverse, shuffle)
	MOVQ(U32(0), missingWords())
	CMPQ(RBX, U8(1))
	JB(LabelRef("known"))
	JEQ(LabelRef("drawn"))
	drawRandomWord(low, "combine")
	Label("combine")
	XORQ(low, high)
	Label("drawn")
	readCycles()
	Label("known")
	SHLQ(U8(4), RAX)
	MOVQ(RAX, next)
	PINSRQ(U8(1), high, next)
	stream128(combine)
}

func xorNoise() {
	function("xorNoise", "func(out *[3]uint64, words uint64) (missing uint64)",
		"xorNoise XORs into out the cycle counter and up to two words of the random instruction. missing is",
		"the number of words that the instruction did not give.")
	out, words := Mem{Base: RDI}, R11
	Load(Param("out"), out.Base)
	Load(Param("words"), words)
	XORQ(R8, R8)
	XORQ(R9, R9)
	MOVQ(U32(0), missingWords())
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

// readCycles reads the cycle counter into RAX.
func readCycles() {
	RDTSC()
	SHLQ(U8(32), RDX)
	ORQ(RDX, RAX)
}

// missingWords is the result that counts the words that the random instruction did not give.
func missingWords() Mem {
	result, err := Return("missing").Resolve()
	if err != nil {
		panic(err)
	}
	return result.Addr
}

// drawRandomWord draws a word and jumps to done with it. If the instruction fails, it counts a missing word
// and goes on with zero.
func drawRandomWord(word GPPhysical, done string) {
	retry := done + "Retry"
	MOVL(U32(tries), EBX)
	Label(retry)
	rdrand(word)
	JCS(LabelRef(done))
	SUBL(U8(1), EBX)
	JNE(LabelRef(retry))
	XORQ(word, word)
	ADDQ(U8(1), missingWords())
}
