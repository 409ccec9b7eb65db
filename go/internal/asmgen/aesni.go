package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// Registers of the AES-NI code. next is the number of the next block, its low half first.
var (
	blocks128 = []VecPhysical{X0, X1, X2, X3, X4, X5, X6, X7}
	scratch   = X8
	next      = X9
	step      = X10
	shuffle   = X11
)

// The halves of a block number.
var high, low = R8, R9

// output tells what becomes of a keystream: it replaces dst, or is XORed into it.
type output bool

const (
	replace output = false
	combine output = true
)

func keystreamAESNI() {
	function("keystreamAESNI", "func(keys *[240]byte, counter *[16]byte, dst []byte)",
		"keystreamAESNI fills dst, which is not empty, with keystream from block counter+1 on, and",
		"counts.")
	loadCounter()
	MOVQ(low, next)
	PINSRQ(U8(1), high, next)
	MOVOU(one, step)
	MOVOU(reverse, shuffle)
	PADDQ(step, next)
	stream128(replace)
	afterCarry()
}

// loadCounter loads the arguments of a keystream function, counts the blocks, and stores the
// number of the last one. Jumps to carry, before anything is stored, if the low half overflows.
func loadCounter() {
	Load(Param("keys"), keys.Base)
	counter := Mem{Base: RDX}
	Load(Param("counter"), counter.Base)
	loadSlice()
	MOVQ(counter, high)
	MOVQ(counter.Offset(8), low)
	BSWAPQ(high)
	BSWAPQ(low)
	LEAQ(Mem{Base: length, Disp: blockSize - 1}, RAX)
	SHRQ(U8(4), RAX)
	ADDQ(low, RAX)
	JCS(LabelRef("carry"))
	BSWAPQ(RAX)
	MOVQ(RAX, counter.Offset(8))
}

// stream128 makes keystream from block next on for all of dst, which is not empty.
func stream128(out output) {
	const batch = 8
	CMPQ(length, U32(batch*blockSize))
	JBE(LabelRef("rest"))
	Label("bulk")
	encrypt128(batch)
	store128(out, 0, batch)
	ADDQ(U32(batch*blockSize), dst.Base)
	SUBQ(U32(batch*blockSize), length)
	CMPQ(length, U32(batch*blockSize))
	JA(LabelRef("bulk"))

	Label("rest")
	for _, count := range []int{1, 2, 4} {
		CMPQ(length, U8(count*blockSize))
		JBE(LabelRef(fmt.Sprintf("upTo%d", count)))
	}
	for _, count := range []int{8, 4, 2, 1} {
		Label(fmt.Sprintf("upTo%d", count))
		encrypt128(count)
		storeLast128(out, count)
	}
	Label("partial")
	storePartial128(out)
	Label("done")
	erase()
	clear128(blocks128...)
	clear128(scratch, next, step, shuffle)
	clearNumbers()
	RET()
}

// encrypt128 makes the next count blocks of keystream.
func encrypt128(count int) {
	blocks := blocks128[:count]
	for _, block := range blocks {
		MOVOA(next, block)
		PSHUFB(shuffle, block)
		PADDQ(step, next)
	}
	for round := 0; round <= lastRound; round++ {
		MOVOU(keys.Offset(blockSize*round), scratch)
		for _, block := range blocks {
			switch round {
			case 0:
				PXOR(scratch, block)
			case lastRound:
				AESENCLAST(scratch, block)
			default:
				AESENC(scratch, block)
			}
		}
	}
}

// put128 puts out whole blocks, numbers first to end.
func store128(out output, first, end int) {
	for i, block := range blocks128[first:end] {
		place := dst.Offset(blockSize * (first + i))
		if out == combine {
			MOVOU(place, scratch)
			PXOR(scratch, block)
		}
		MOVOU(block, place)
	}
}

// rest128 puts out the last count blocks, of which more than half are needed.
func storeLast128(out output, count int) {
	store128(out, 0, count/2)
	for i := count / 2; i < count; i++ {
		CMPQ(length, U8(blockSize*(i+1)))
		JB(LabelRef(cutLabel(count, i)))
		store128(out, i, i+1)
	}
	JMP(LabelRef("done"))
	for i := count / 2; i < count; i++ {
		Label(cutLabel(count, i))
		if i > 0 {
			SUBQ(U8(blockSize*i), length)
			JEQ(LabelRef("done"))
			ADDQ(U8(blockSize*i), dst.Base)
			MOVOA(blocks128[i], blocks128[0])
		}
		if count > 1 {
			JMP(LabelRef("partial"))
		}
	}
}

// cut labels the case that of count blocks, number i is not needed as a whole.
func cutLabel(count, i int) string {
	return fmt.Sprintf("cut%dOf%d", i, count)
}

// partial128 puts out the front of block 0: at least one byte, less than all.
func storePartial128(out output) {
	block := blocks128[0]
	piece := func(bytes int, load, store func(), drop bool) {
		label := fmt.Sprintf("below%d", bytes)
		TESTQ(U32(bytes), length)
		JEQ(LabelRef(label))
		if out == combine {
			load()
			PXOR(scratch, block)
		}
		store()
		if drop {
			ADDQ(U8(bytes), dst.Base)
			PSRLO(U8(bytes), block)
		}
		Label(label)
	}
	piece(8, func() { MOVQ(dst, scratch) }, func() { MOVQ(block, dst) }, true)
	piece(4, func() { MOVSS(dst, scratch) }, func() { MOVSS(block, dst) }, true)
	piece(2, func() { PXOR(scratch, scratch); PINSRW(U8(0), dst, scratch) },
		func() { PEXTRW(U8(0), block, dst) }, true)
	piece(1, func() { PXOR(scratch, scratch); PINSRB(U8(0), dst, scratch) },
		func() { PEXTRB(U8(0), block, dst) }, false)
}

// afterCarry makes the keystream of a request within which the low half of the counter overflows,
// which no caller will ever see unless it chooses the counter: one block at a time.
func afterCarry() {
	Label("carry")
	counter := Mem{Base: RDX}
	MOVOU(reverse, shuffle)
	MOVOU(one, step)
	Label("carryNext")
	ADDQ(U8(1), low)
	ADCQ(U8(0), high)
	MOVQ(low, next)
	PINSRQ(U8(1), high, next)
	encrypt128(1)
	CMPQ(length, U8(blockSize))
	JB(LabelRef("carryDone"))
	store128(replace, 0, 1)
	ADDQ(U8(blockSize), dst.Base)
	SUBQ(U8(blockSize), length)
	JNE(LabelRef("carryNext"))
	Label("carryDone")
	BSWAPQ(low)
	BSWAPQ(high)
	MOVQ(high, counter)
	MOVQ(low, counter.Offset(8))
	TESTQ(length, length)
	JNE(LabelRef("partial"))
	JMP(LabelRef("done"))
}
