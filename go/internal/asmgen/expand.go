package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// expand writes the key expansion of FIPS 197 section 5.2, without tables.
//
// SubWord comes from the last round of the cipher: on a state whose four columns are equal,
// ShiftRows changes nothing, so AESENCLAST is SubBytes and the addition of the round constant.
func expand() {
	function("expand", "func(key *[32]byte, keys *[240]byte)",
		"expand writes the 15 round keys of key.")
	even, odd, word, shifted := X0, X1, X2, X3
	constant, zero, shuffle := X4, X5, X6
	Load(Param("key"), RAX)
	Load(Param("keys"), keys.Base)
	MOVOU(Mem{Base: RAX}, even)
	MOVOU(Mem{Base: RAX}.Offset(blockSize), odd)
	MOVOU(rcon, constant)
	MOVOU(rotated, shuffle)
	PXOR(zero, zero)
	for round := 0; round < lastRound; round += 2 {
		MOVOU(even, keys.Offset(blockSize*round))
		MOVOU(odd, keys.Offset(blockSize*(round+1)))

		Comment("SubWord(RotWord) of the last word, and the round constant")
		MOVOA(odd, word)
		PSHUFB(shuffle, word)
		AESENCLAST(constant, word)
		runningXor(even, shifted)
		PXOR(word, even)
		if round+2 == lastRound {
			break
		}

		Comment("SubWord of the last word")
		PSHUFD(U8(0xff), even, word)
		AESENCLAST(zero, word)
		runningXor(odd, shifted)
		PXOR(word, odd)
		PADDD(constant, constant)
	}
	MOVOU(even, keys.Offset(blockSize*lastRound))
	erase()
	clear128(even, odd, word, shifted, constant, zero, shuffle)
	RET()
}

// runningXor makes word i of key the XOR of its words 0 to i.
func runningXor(key, shifted VecPhysical) {
	for _, bytes := range []uint8{4, 8} {
		MOVOA(key, shifted)
		PSLLO(U8(bytes), shifted)
		PXOR(shifted, key)
	}
}
