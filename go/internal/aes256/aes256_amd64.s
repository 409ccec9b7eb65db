//go:build linux && amd64 && !purego

// AES-256 by AES-NI, and what all engines need besides keystream.
//
// In this and the other engines' files no function has a stack frame. Every function leaves zeros in all vector
// registers, and nothing secret in the others. Each erases the registers that it used after the comment "erase"; the
// control in package registers leaves that out. Constants are read without a need for alignment, and what their DATA
// does not name is zero.

#include "textflag.h"

#define LEN 16
#define V0 X0
#define V1 X1
#define V2 X2
#define V3 X3
#define V4 X4
#define V5 X5
#define V6 X6
#define V7 X7
#define NEXT(vector) \
	MOVOA  X9, vector; \
	PSHUFB X11, vector; \
	PADDQ  X10, X9
#define KEY(key) MOVOU key, X8
#define AES1(AES, vector) AES X8, vector
#define FIRST PXOR
#define MIDDLE AESENC
#define LAST AESENCLAST
#define MOVE MOVOA

#include "keystream_amd64.h"

// one is the 128-bit number 1.
DATA one<>+0(SB)/8, $1
GLOBL one<>(SB), RODATA|NOPTR, $16

// rotated, a shuffle, gives the last word of a round key, rotated by a byte, in all four words: RotWord of
// FIPS 197 section 5.2.
DATA rotated<>+0(SB)/8, $0x0c0f0e0d0c0f0e0d
DATA rotated<>+8(SB)/8, $0x0c0f0e0d0c0f0e0d
GLOBL rotated<>(SB), RODATA|NOPTR, $16

// rcon is the first round constant of FIPS 197 section 5.2 in all four words.
DATA rcon<>+0(SB)/8, $0x0000000100000001
DATA rcon<>+8(SB)/8, $0x0000000100000001
GLOBL rcon<>(SB), RODATA|NOPTR, $16

// ZERO clears a register that only instructions without AVX wrote.
#define ZERO(vector) PXOR vector, vector
#define ZERO_ALL \
	ZERO(X0); ZERO(X1); ZERO(X2); ZERO(X3); ZERO(X4); ZERO(X5); \
	ZERO(X6); ZERO(X7); ZERO(X8); ZERO(X9); ZERO(X10); ZERO(X11)

// Registers of the key expansion: X0 and X1 the last even and odd round key, X4 the round constant, X5 zero, X6
// rotated.

// SHIFTED_SUM makes word i of key the XOR of its words 0 to i.
#define SHIFTED_SUM(key) \
	MOVOA key, X3; \
	PSLLO $4, X3; \
	PXOR  X3, key; \
	MOVOA key, X3; \
	PSLLO $8, X3; \
	PXOR  X3, key

// EVEN makes the next even round key, with SubWord(RotWord) of the last word and the round constant. SubWord
// comes from AESENCLAST, the last round of the cipher: on a state whose four columns are equal, ShiftRows
// changes nothing, so it is SubBytes and the addition of its key.
#define EVEN \
	MOVOA      X1, X2; \
	PSHUFB     X6, X2; \
	AESENCLAST X4, X2; \
	SHIFTED_SUM(X0); \
	PXOR       X2, X0

// ODD makes the next odd round key, with SubWord of the last word.
#define ODD \
	PSHUFD     $0xff, X0, X2; \
	AESENCLAST X5, X2; \
	SHIFTED_SUM(X1); \
	PXOR       X2, X1

// PAIR makes the next two round keys.
#define PAIR(at) \
	EVEN; \
	ODD; \
	PADDD X4, X4; \
	MOVOU X0, at(SI); \
	MOVOU X1, (at+16)(SI)

// The key expansion of FIPS 197 section 5.2, without tables.
//
// func Expand(key *[32]byte, keys *[240]byte)
TEXT ·Expand(SB), NOSPLIT, $0-16
	MOVQ  key+0(FP), AX
	MOVQ  keys+8(FP), SI
	MOVOU (AX), X0
	MOVOU 16(AX), X1
	MOVOU rcon<>(SB), X4
	MOVOU rotated<>(SB), X6
	PXOR  X5, X5
	MOVOU X0, (SI)
	MOVOU X1, 16(SI)
	PAIR(32); PAIR(64); PAIR(96); PAIR(128); PAIR(160); PAIR(192)
	EVEN
	MOVOU X0, 224(SI)
	// erase
	ZERO(X0); ZERO(X1); ZERO(X2); ZERO(X3); ZERO(X4); ZERO(X5); ZERO(X6)
	RET

// STREAM makes keystream from the next block on for all of dst, which is not empty. It jumps to done, or to partial
// with the last block.
#define STREAM(PUT) \
	CMPQ CX, $(8*LEN); \
	JBE  rest; \
	BULK(ENCRYPT8, PUT); \
rest: \
	REST(PUT, partial)

// REPLACE and COMBINE put out a block of keystream: it replaces dst, or is XORed into it.
#define REPLACE(block, at) MOVOU block, (at)(DI)
#define COMBINE(block, at) \
	MOVOU (at)(DI), X8; \
	PXOR  X8, block; \
	MOVOU block, (at)(DI)

// COMBINE_MOVED and COMBINE_INSERTED are what PARTIAL does for COMBINE: they XOR bytes of dst into the block.
#define COMBINE_MOVED(LOAD) \
	LOAD (DI), X8; \
	PXOR X8, X0
#define COMBINE_INSERTED(LOAD) \
	PXOR X8, X8; \
	LOAD $0, (DI), X8; \
	PXOR X8, X0

// func keystreamAESNI(keys *[240]byte, counter *[16]byte, dst []byte)
TEXT ·keystreamAESNI(SB), NOSPLIT, $0-40
	MOVQ   keys+0(FP), SI
	MOVQ   counter+8(FP), DX
	MOVQ   dst_base+16(FP), DI
	MOVQ   dst_len+24(FP), CX
	COUNT
	MOVQ   R9, X9
	PINSRQ $1, R8, X9
	MOVOU  one<>(SB), X10
	MOVOU  reverse<>(SB), X11
	PADDQ  X10, X9
	STREAM(REPLACE)

partial:
	PARTIAL(NOTHING, NOTHING)

done:
	// erase
	ZERO_ALL
	ZERO_NUMBERS
	RET

carry:
	AFTER_CARRY

// READ_CYCLES reads the cycle counter into AX.
#define READ_CYCLES \
	RDTSC; \
	SHLQ $32, DX; \
	ORQ  DX, AX

// RANDOM draws a word of the random instruction and jumps to done with it. If the instruction fails 10 times
// (Intel SDM volume 1, section 7.3.17.1), it counts a missing word and goes on with zero.
#define RANDOM(word, missing, retry, done) \
	MOVL    $10, BX; \
retry: \
	RDRANDQ word; \
	JCS     done; \
	SUBL    $1, BX; \
	JNE     retry; \
	XORQ    word, word; \
	ADDQ    $1, missing

// func pad(keys *[240]byte, dst []byte, source int, word uint64, cycles uint64) (missing uint64)
TEXT ·pad(SB), NOSPLIT, $0-64
	MOVQ  source+32(FP), BX
	MOVQ  word+40(FP), R8
	MOVQ  cycles+48(FP), AX
	MOVQ  keys+0(FP), SI
	MOVQ  dst_base+8(FP), DI
	MOVQ  dst_len+16(FP), CX
	MOVOU one<>(SB), X10
	MOVOU reverse<>(SB), X11
	MOVQ  $0, missing+56(FP)
	CMPQ  BX, $1
	JB    known
	JEQ   drawn
	RANDOM(R9, missing+56(FP), retry, combine)

combine:
	XORQ R9, R8

drawn:
	READ_CYCLES

known:
	SHLQ   $4, AX
	MOVQ   AX, X9
	PINSRQ $1, R8, X9
	STREAM(COMBINE)

partial:
	PARTIAL(COMBINE_MOVED, COMBINE_INSERTED)

done:
	// erase
	ZERO_ALL
	ZERO_NUMBERS
	RET

// func xorNoise(out *[3]uint64, words uint64) (missing uint64)
TEXT ·xorNoise(SB), NOSPLIT, $0-24
	MOVQ out+0(FP), DI
	MOVQ words+8(FP), R11
	XORQ R8, R8
	XORQ R9, R9
	MOVQ $0, missing+16(FP)
	CMPQ R11, $1
	JB   drawn
	RANDOM(R8, missing+16(FP), first, second)

second:
	CMPQ R11, $1
	JEQ  drawn
	RANDOM(R9, missing+16(FP), retry, drawn)

drawn:
	READ_CYCLES
	XORQ AX, (DI)
	XORQ R8, 8(DI)
	XORQ R9, 16(DI)
	// erase
	ZERO_NUMBERS
	RET

// func XOR(out, first, second *[48]byte)
TEXT ·XOR(SB), NOSPLIT, $0-24
	MOVQ  out+0(FP), DI
	MOVQ  first+8(FP), SI
	MOVQ  second+16(FP), AX
	MOVOU (SI), X0
	MOVOU 16(SI), X1
	MOVOU 32(SI), X2
	TESTQ AX, AX
	JEQ   summed
	MOVOU (AX), X8
	PXOR  X8, X0
	MOVOU 16(AX), X8
	PXOR  X8, X1
	MOVOU 32(AX), X8
	PXOR  X8, X2

summed:
	MOVOU X0, (DI)
	MOVOU X1, 16(DI)
	MOVOU X2, 32(DI)
	// erase
	ZERO(X0); ZERO(X1); ZERO(X2); ZERO(X8)
	RET

// func take(dst []byte, src *byte)
//
// It reads the last 16 bytes first, because the loop may clear some of them.
TEXT ·take(SB), NOSPLIT, $0-32
	MOVQ  src+24(FP), SI
	MOVQ  dst_base+0(FP), DI
	MOVQ  dst_len+8(FP), CX
	PXOR  X0, X0
	MOVOU -16(SI)(CX*1), X2
	LEAQ  -16(SI)(CX*1), AX
	LEAQ  -16(DI)(CX*1), DX
	JMP   test

loop:
	MOVOU (SI), X1
	MOVOU X1, (DI)
	MOVOU X0, (SI)
	ADDQ  $16, SI
	ADDQ  $16, DI

test:
	CMPQ  SI, AX
	JB    loop
	MOVOU X2, (DX)
	MOVOU X0, (AX)
	// erase
	ZERO(X1); ZERO(X2)
	RET
