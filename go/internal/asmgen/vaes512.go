package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// vectorSize is the length of a vector of four blocks.
const vectorSize = 64

// Registers of the VAES code: vectors of four blocks, or one round key four times.
var (
	vectors      = []VecPhysical{Z0, Z1, Z2, Z3, Z4, Z5, Z6, Z7}
	nextFour     = Z9
	stepFour     = Z10
	shuffle512   = Z11
	scratch512   = Z12
	registerKeys = []VecPhysical{Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23, Z24, Z25, Z26, Z27, Z28, Z29, Z30}
)

func keystreamVAES512() {
	function("keystreamVAES512", "func(keys *[240]byte, counter *[16]byte, dst []byte)",
		"keystreamVAES512 is keystreamAESNI by VAES on 512-bit registers.")
	loadCounter()
	VMOVQ(low, X9)
	VPINSRQ(U8(1), high, X9, X9)
	VSHUFI64X2(U8(0), nextFour, nextFour, nextFour)
	VPADDQ(firstFour, nextFour, nextFour)
	VMOVDQU64(four, stepFour)
	VBROADCASTI32X4(reverse, shuffle512)
	stream512()
	Label("partial")
	storePartial128(replace)
	Label("done")
	erase()
	VZEROALL()
	clearNumbers()
	RET()
	afterCarry()
}

// stream512 makes keystream from block nextFour on for all of dst, which is not empty.
func stream512() {
	batch := len(vectors)
	CMPQ(length, U32(batch*vectorSize))
	JBE(LabelRef("rest"))
	for round, key := range registerKeys {
		VBROADCASTI32X4(keys.Offset(blockSize*round), key)
	}
	Label("bulk")
	encrypt512(batch, func(round int) VecPhysical { return registerKeys[round] })
	store512(0, batch)
	ADDQ(U32(batch*vectorSize), dst.Base)
	SUBQ(U32(batch*vectorSize), length)
	CMPQ(length, U32(batch*vectorSize))
	JA(LabelRef("bulk"))
	erase()
	for _, key := range registerKeys {
		VPXORQ(key, key, key)
	}

	Label("rest")
	for _, count := range []int{1, 2, 4} {
		CMPQ(length, U32(count*vectorSize))
		JBE(LabelRef(fmt.Sprintf("upTo%d", count)))
	}
	for _, count := range []int{8, 4, 2, 1} {
		Label(fmt.Sprintf("upTo%d", count))
		encrypt512(count, broadcast)
		storeLast512(count)
	}
	storePartial512()
}

// broadcast loads a round key.
func broadcast(round int) VecPhysical {
	VBROADCASTI32X4(keys.Offset(blockSize*round), scratch512)
	return scratch512
}

// encrypt512 makes the next count vectors of keystream.
func encrypt512(count int, key func(round int) VecPhysical) {
	vectors := vectors[:count]
	for _, vector := range vectors {
		VPSHUFB(shuffle512, nextFour, vector)
		VPADDQ(stepFour, nextFour, nextFour)
	}
	for round := 0; round <= lastRound; round++ {
		key := key(round)
		for _, vector := range vectors {
			switch round {
			case 0:
				VPXORQ(key, vector, vector)
			case lastRound:
				vaes("VAESENCLAST", key, vector)
			default:
				vaes("VAESENC", key, vector)
			}
		}
	}
}

// put512 puts out whole vectors, numbers first to end.
func store512(first, end int) {
	for i, vector := range vectors[first:end] {
		VMOVDQU64(vector, dst.Offset(vectorSize*(first+i)))
	}
}

// rest512 puts out the last count vectors, of which more than half are needed.
func storeLast512(count int) {
	store512(0, count/2)
	for i := count / 2; i < count; i++ {
		CMPQ(length, U32(vectorSize*(i+1)))
		JB(LabelRef(cutLabel(count, i)))
		store512(i, i+1)
	}
	JMP(LabelRef("done"))
	for i := count / 2; i < count; i++ {
		Label(cutLabel(count, i))
		if i > 0 {
			SUBQ(U32(vectorSize*i), length)
			JEQ(LabelRef("done"))
			ADDQ(U32(vectorSize*i), dst.Base)
			VMOVDQA64(vectors[i], vectors[0])
		}
		if count > 1 {
			JMP(LabelRef("cutVector"))
		}
	}
}

// cut512 puts out the front of vector 0: at least one byte, less than all. Stores under a mask would
// be shorter code, but take 16 ns on the CPUs measured.
func storePartial512() {
	Label("cutVector")
	TESTQ(U32(32), length)
	JEQ(LabelRef("below32"))
	VMOVDQU(Y0, dst)
	VEXTRACTI64X4(U8(1), Z0, Y0)
	ADDQ(U8(32), dst.Base)
	Label("below32")
	TESTQ(U32(16), length)
	JEQ(LabelRef("below16"))
	VMOVDQU(X0, dst)
	VEXTRACTI128(U8(1), Y0, X0)
	ADDQ(U8(16), dst.Base)
	Label("below16")
	TESTQ(U32(15), length)
	JEQ(LabelRef("done"))
	VZEROUPPER()
}
