// Command asmgen writes the assembly of package aes256.
//
// Registers are named here and not allocated, so that it is plain which ones held secrets: every
// function erases those before it returns. No function has a stack frame.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// blockSize is the length of an AES block, lastRound the number of the last round key
// (FIPS 197 table 3).
const (
	blockSize = 16
	lastRound = 14
)

// The registers of the arguments: the round keys, what is left of dst, and its length in bytes.
var (
	keys   = Mem{Base: RSI}
	dst    = Mem{Base: RDI}
	length = RCX
)

func main() {
	ConstraintExpr("amd64,!purego")
	constants()
	expand()
	keystreamAESNI()
	keystreamVAES512()
	pad()
	xorNoise()
	xor()
	take()
	takeAndReadCounter()
	readCounter()
	Generate()
}

// function starts a function that must not make its pointers escape.
func function(name, signature string, doc ...string) {
	TEXT(name, nosplit, signature)
	Pragma("noescape")
	Doc(doc...)
}

// loadSlice loads the pointer and the length of dst.
func loadSlice() {
	Load(Param("dst").Base(), dst.Base)
	Load(Param("dst").Len(), length)
}
