//go:build linux && amd64 && !purego

#include "textflag.h"

// AES-256 by AES-NI, and by VAES on 512-bit registers. No function has a stack frame. Every function leaves
// zeros in all vector registers, and nothing secret in the others. Each erases the registers that it used after
// the comment "erase"; the control in package registers leaves that out.

// Constants, each read without a need for alignment. What DATA does not name is zero.

// reverse, a shuffle, turns a 128-bit number's bytes around.
DATA reverse<>+0(SB)/8, $0x08090a0b0c0d0e0f
DATA reverse<>+8(SB)/8, $0x0001020304050607
GLOBL reverse<>(SB), RODATA|NOPTR, $16

// one is the 128-bit number 1.
DATA one<>+0(SB)/8, $1
GLOBL one<>(SB), RODATA|NOPTR, $16

// four is the 4 that steps four counters, in four lanes.
DATA four<>+0(SB)/8, $4
DATA four<>+16(SB)/8, $4
DATA four<>+32(SB)/8, $4
DATA four<>+48(SB)/8, $4
GLOBL four<>(SB), RODATA|NOPTR, $64

// firstFour has the numbers 1 to 4, in four lanes.
DATA firstFour<>+0(SB)/8, $1
DATA firstFour<>+16(SB)/8, $2
DATA firstFour<>+32(SB)/8, $3
DATA firstFour<>+48(SB)/8, $4
GLOBL firstFour<>(SB), RODATA|NOPTR, $64

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
#define ZERO_NUMBERS \
	XORQ AX, AX; \
	XORQ DX, DX; \
	XORQ R8, R8; \
	XORQ R9, R9

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

// Registers of the keystream: SI the round keys, DI what is left of dst, CX its length in bytes; R8 and R9 a
// block number, its upper half first; X0 to X7 blocks, X8 scratch, X9 the number of the next block, its lower
// half first, X10 the number 1, X11 reverse. With VAES, which has vectors of four blocks: Z0 to Z7 blocks, Z9
// the next four numbers, Z10 four, Z11 reverse four times, Z12 one round key four times, Z16 to Z30 all of them.

// COUNT counts the blocks, and stores the number of the last one at DX. It jumps to carry, before it stores
// anything, if the lower half overflows.
#define COUNT \
	MOVQ   (DX), R8; \
	MOVQ   8(DX), R9; \
	BSWAPQ R8; \
	BSWAPQ R9; \
	LEAQ   15(CX), AX; \
	SHRQ   $4, AX; \
	ADDQ   R9, AX; \
	JCS    carry; \
	BSWAPQ AX; \
	MOVQ   AX, 8(DX)

// NEXT makes a block of the next number.
#define NEXT(block) \
	MOVOA  X9, block; \
	PSHUFB X11, block; \
	PADDQ  X10, X9

#define NEXT2 NEXT(X0); NEXT(X1)
#define NEXT4 NEXT2; NEXT(X2); NEXT(X3)
#define NEXT8 NEXT4; NEXT(X4); NEXT(X5); NEXT(X6); NEXT(X7)

// ROUNDS does ROUND for each round: with its instruction, its key in memory, and the register that may keep the
// key for VAES.
#define ROUNDS(ROUND, FIRST, MIDDLE, LAST) \
	ROUND(FIRST, 0(SI), Z16); \
	ROUND(MIDDLE, 16(SI), Z17); \
	ROUND(MIDDLE, 32(SI), Z18); \
	ROUND(MIDDLE, 48(SI), Z19); \
	ROUND(MIDDLE, 64(SI), Z20); \
	ROUND(MIDDLE, 80(SI), Z21); \
	ROUND(MIDDLE, 96(SI), Z22); \
	ROUND(MIDDLE, 112(SI), Z23); \
	ROUND(MIDDLE, 128(SI), Z24); \
	ROUND(MIDDLE, 144(SI), Z25); \
	ROUND(MIDDLE, 160(SI), Z26); \
	ROUND(MIDDLE, 176(SI), Z27); \
	ROUND(MIDDLE, 192(SI), Z28); \
	ROUND(MIDDLE, 208(SI), Z29); \
	ROUND(LAST, 224(SI), Z30)

#define ROUND1(AES, key, kept) MOVOU key, X8; AES X8, X0
#define ROUND2(AES, key, kept) ROUND1(AES, key, kept); AES X8, X1
#define ROUND4(AES, key, kept) ROUND2(AES, key, kept); AES X8, X2; AES X8, X3
#define ROUND8(AES, key, kept) ROUND4(AES, key, kept); AES X8, X4; AES X8, X5; AES X8, X6; AES X8, X7

// ENCRYPT1, ENCRYPT2, ENCRYPT4 and ENCRYPT8 make the next 1, 2, 4 and 8 blocks of keystream.
#define ENCRYPT1 NEXT(X0); ROUNDS(ROUND1, PXOR, AESENC, AESENCLAST)
#define ENCRYPT2 NEXT2; ROUNDS(ROUND2, PXOR, AESENC, AESENCLAST)
#define ENCRYPT4 NEXT4; ROUNDS(ROUND4, PXOR, AESENC, AESENCLAST)
#define ENCRYPT8 NEXT8; ROUNDS(ROUND8, PXOR, AESENC, AESENCLAST)

// REPLACE and COMBINE put out a block of keystream: it replaces dst, or is XORed into it.
#define REPLACE(block, at) MOVOU block, at(DI)
#define COMBINE(block, at) \
	MOVOU at(DI), X8; \
	PXOR  X8, block; \
	MOVOU block, at(DI)

// WHOLE puts out one of the last blocks, or jumps to cut if dst ends before the block's end.
#define WHOLE(PUT, block, at, end, cut) \
	CMPQ CX, $end; \
	JB   cut; \
	PUT(block, at)

// CUT takes over from WHOLE where dst ends in a block: it moves the block to the first one's register and jumps
// to part, which puts out its front, or to done if dst needs nothing of it.
#define CUT(cut, at, MOVE, block, first, part) \
cut: \
	SUBQ $at, CX; \
	JEQ  done; \
	ADDQ $at, DI; \
	MOVE block, first; \
	JMP  part

// STREAM makes keystream from the next block on for all of dst, which is not empty. In the end it makes 8, 4, 2
// or 1 blocks at once, and dst needs more than half of them. It jumps to done, or to partial with the last one.
#define STREAM(PUT) \
	CMPQ CX, $128; \
	JBE  rest; \
bulk: \
	ENCRYPT8; \
	PUT(X0, 0); PUT(X1, 16); PUT(X2, 32); PUT(X3, 48); \
	PUT(X4, 64); PUT(X5, 80); PUT(X6, 96); PUT(X7, 112); \
	ADDQ $128, DI; \
	SUBQ $128, CX; \
	CMPQ CX, $128; \
	JA   bulk; \
rest: \
	CMPQ CX, $16; \
	JBE  upTo1; \
	CMPQ CX, $32; \
	JBE  upTo2; \
	CMPQ CX, $64; \
	JBE  upTo4; \
	ENCRYPT8; \
	PUT(X0, 0); PUT(X1, 16); PUT(X2, 32); PUT(X3, 48); \
	WHOLE(PUT, X4, 64, 80, cut4Of8); \
	WHOLE(PUT, X5, 80, 96, cut5Of8); \
	WHOLE(PUT, X6, 96, 112, cut6Of8); \
	WHOLE(PUT, X7, 112, 128, cut7Of8); \
	JMP  done; \
	CUT(cut4Of8, 64, MOVOA, X4, X0, partial); \
	CUT(cut5Of8, 80, MOVOA, X5, X0, partial); \
	CUT(cut6Of8, 96, MOVOA, X6, X0, partial); \
	CUT(cut7Of8, 112, MOVOA, X7, X0, partial); \
upTo4: \
	ENCRYPT4; \
	PUT(X0, 0); PUT(X1, 16); \
	WHOLE(PUT, X2, 32, 48, cut2Of4); \
	WHOLE(PUT, X3, 48, 64, cut3Of4); \
	JMP  done; \
	CUT(cut2Of4, 32, MOVOA, X2, X0, partial); \
	CUT(cut3Of4, 48, MOVOA, X3, X0, partial); \
upTo2: \
	ENCRYPT2; \
	PUT(X0, 0); \
	WHOLE(PUT, X1, 16, 32, cut1Of2); \
	JMP  done; \
	CUT(cut1Of2, 16, MOVOA, X1, X0, partial); \
upTo1: \
	ENCRYPT1; \
	WHOLE(PUT, X0, 0, 16, partial); \
	JMP  done

// PARTIAL puts out the front of block 0: at least one byte, less than all. Before each store it does MOVED or
// INSERTED, with the instruction that loads as many bytes.
#define PARTIAL(MOVED, INSERTED) \
	TESTQ  $8, CX; \
	JEQ    below8; \
	MOVED(MOVQ); \
	MOVQ   X0, (DI); \
	ADDQ   $8, DI; \
	PSRLO  $8, X0; \
below8: \
	TESTQ  $4, CX; \
	JEQ    below4; \
	MOVED(MOVSS); \
	MOVSS  X0, (DI); \
	ADDQ   $4, DI; \
	PSRLO  $4, X0; \
below4: \
	TESTQ  $2, CX; \
	JEQ    below2; \
	INSERTED(PINSRW); \
	PEXTRW $0, X0, (DI); \
	ADDQ   $2, DI; \
	PSRLO  $2, X0; \
below2: \
	TESTQ  $1, CX; \
	JEQ    done; \
	INSERTED(PINSRB); \
	PEXTRB $0, X0, (DI)

// What PARTIAL does before a store: nothing to replace dst, or it XORs dst into the block.
#define NOTHING(LOAD)
#define COMBINE_MOVED(LOAD) \
	LOAD (DI), X8; \
	PXOR X8, X0
#define COMBINE_INSERTED(LOAD) \
	PXOR X8, X8; \
	LOAD $0, (DI), X8; \
	PXOR X8, X0

// AFTER_CARRY makes the keystream of a request within which the lower half of the counter overflows, which no
// caller will ever see unless it chooses the counter: one block at a time.
#define AFTER_CARRY \
	MOVOU  reverse<>(SB), X11; \
	MOVOU  one<>(SB), X10; \
carryNext: \
	ADDQ   $1, R9; \
	ADCQ   $0, R8; \
	MOVQ   R9, X9; \
	PINSRQ $1, R8, X9; \
	ENCRYPT1; \
	CMPQ   CX, $16; \
	JB     carryDone; \
	REPLACE(X0, 0); \
	ADDQ   $16, DI; \
	SUBQ   $16, CX; \
	JNE    carryNext; \
carryDone: \
	BSWAPQ R9; \
	BSWAPQ R8; \
	MOVQ   R8, (DX); \
	MOVQ   R9, 8(DX); \
	TESTQ  CX, CX; \
	JNE    partial; \
	JMP    done

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

// What begins with V is the same for VAES. VNEXT makes a vector of the next four numbers.
#define VNEXT(vector) \
	VPSHUFB Z11, Z9, vector; \
	VPADDQ  Z10, Z9, Z9

#define VNEXT2 VNEXT(Z0); VNEXT(Z1)
#define VNEXT4 VNEXT2; VNEXT(Z2); VNEXT(Z3)
#define VNEXT8 VNEXT4; VNEXT(Z4); VNEXT(Z5); VNEXT(Z6); VNEXT(Z7)

// VAES1, VAES2, VAES4 and VAES8 do an instruction of a round with so many vectors.
#define VAES1(AES, key) AES key, Z0, Z0
#define VAES2(AES, key) VAES1(AES, key); AES key, Z1, Z1
#define VAES4(AES, key) VAES2(AES, key); AES key, Z2, Z2; AES key, Z3, Z3
#define VAES8(AES, key) VAES4(AES, key); \
	AES key, Z4, Z4; AES key, Z5, Z5; AES key, Z6, Z6; AES key, Z7, Z7

#define VROUND1(AES, key, kept) VBROADCASTI32X4 key, Z12; VAES1(AES, Z12)
#define VROUND2(AES, key, kept) VBROADCASTI32X4 key, Z12; VAES2(AES, Z12)
#define VROUND4(AES, key, kept) VBROADCASTI32X4 key, Z12; VAES4(AES, Z12)
#define VROUND8(AES, key, kept) VBROADCASTI32X4 key, Z12; VAES8(AES, Z12)
#define VROUND_BULK(AES, key, kept) VAES8(AES, kept)

#define VROUNDS(ROUND) ROUNDS(ROUND, VPXORQ, VAESENC, VAESENCLAST)
#define VENCRYPT1 VNEXT(Z0); VROUNDS(VROUND1)
#define VENCRYPT2 VNEXT2; VROUNDS(VROUND2)
#define VENCRYPT4 VNEXT4; VROUNDS(VROUND4)
#define VENCRYPT8 VNEXT8; VROUNDS(VROUND8)
#define VENCRYPT_BULK VNEXT8; VROUNDS(VROUND_BULK)

// KEEP loads a round key into its register, and DROP clears it.
#define KEEP(AES, key, kept) VBROADCASTI32X4 key, kept
#define DROP(AES, key, kept) VPXORQ kept, kept, kept
#define KEEP_KEYS VROUNDS(KEEP)
#define ZERO_KEYS VROUNDS(DROP)

#define VREPLACE(vector, at) VMOVDQU64 vector, at(DI)

// func keystreamVAES512(keys *[240]byte, counter *[16]byte, dst []byte)
TEXT ·keystreamVAES512(SB), NOSPLIT, $0-40
	MOVQ            keys+0(FP), SI
	MOVQ            counter+8(FP), DX
	MOVQ            dst_base+16(FP), DI
	MOVQ            dst_len+24(FP), CX
	COUNT
	VMOVQ           R9, X9
	VPINSRQ         $1, R8, X9, X9
	VSHUFI64X2      $0, Z9, Z9, Z9
	VPADDQ          firstFour<>(SB), Z9, Z9
	VMOVDQU64       four<>(SB), Z10
	VBROADCASTI32X4 reverse<>(SB), Z11
	CMPQ            CX, $512
	JBE             rest
	KEEP_KEYS

bulk:
	VENCRYPT_BULK
	VREPLACE(Z0, 0); VREPLACE(Z1, 64); VREPLACE(Z2, 128); VREPLACE(Z3, 192)
	VREPLACE(Z4, 256); VREPLACE(Z5, 320); VREPLACE(Z6, 384); VREPLACE(Z7, 448)
	ADDQ $512, DI
	SUBQ $512, CX
	CMPQ CX, $512
	JA   bulk
	// erase
	ZERO_KEYS

rest:
	CMPQ CX, $64
	JBE  upTo1
	CMPQ CX, $128
	JBE  upTo2
	CMPQ CX, $256
	JBE  upTo4
	VENCRYPT8
	VREPLACE(Z0, 0); VREPLACE(Z1, 64); VREPLACE(Z2, 128); VREPLACE(Z3, 192)
	WHOLE(VREPLACE, Z4, 256, 320, cut4Of8)
	WHOLE(VREPLACE, Z5, 320, 384, cut5Of8)
	WHOLE(VREPLACE, Z6, 384, 448, cut6Of8)
	WHOLE(VREPLACE, Z7, 448, 512, cut7Of8)
	JMP  done
	CUT(cut4Of8, 256, VMOVDQA64, Z4, Z0, cutVector)
	CUT(cut5Of8, 320, VMOVDQA64, Z5, Z0, cutVector)
	CUT(cut6Of8, 384, VMOVDQA64, Z6, Z0, cutVector)
	CUT(cut7Of8, 448, VMOVDQA64, Z7, Z0, cutVector)

upTo4:
	VENCRYPT4
	VREPLACE(Z0, 0); VREPLACE(Z1, 64)
	WHOLE(VREPLACE, Z2, 128, 192, cut2Of4)
	WHOLE(VREPLACE, Z3, 192, 256, cut3Of4)
	JMP done
	CUT(cut2Of4, 128, VMOVDQA64, Z2, Z0, cutVector)
	CUT(cut3Of4, 192, VMOVDQA64, Z3, Z0, cutVector)

upTo2:
	VENCRYPT2
	VREPLACE(Z0, 0)
	WHOLE(VREPLACE, Z1, 64, 128, cut1Of2)
	JMP done
	CUT(cut1Of2, 64, VMOVDQA64, Z1, Z0, cutVector)

upTo1:
	VENCRYPT1
	WHOLE(VREPLACE, Z0, 0, 64, cutVector)
	JMP done

	// The front of vector 0: at least one byte, less than all. Stores under a mask would be shorter code, but
	// take 16 ns on the CPUs measured.
cutVector:
	TESTQ         $32, CX
	JEQ           below32
	VMOVDQU       Y0, (DI)
	VEXTRACTI64X4 $1, Z0, Y0
	ADDQ          $32, DI

below32:
	TESTQ        $16, CX
	JEQ          below16
	VMOVDQU      X0, (DI)
	VEXTRACTI128 $1, Y0, X0
	ADDQ         $16, DI

below16:
	TESTQ $15, CX
	JEQ   done
	VZEROUPPER

partial:
	PARTIAL(NOTHING, NOTHING)

done:
	// erase
	VZEROALL
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
