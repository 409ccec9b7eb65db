// What the engines share: keystream by vectors of one block or more. The file of an engine defines first
//
//	LEN                  the length of a vector, in bytes
//	V0 to V7             the registers of vectors
//	NEXT(vector)         makes a vector of the next numbers
//	KEY(key)             loads a round key
//	AES1(AES, vector)    does an instruction of a round to a vector, with that key
//	FIRST, MIDDLE, LAST  the instructions of the rounds
//	MOVE                 copies a vector
//
// Registers: SI the round keys, DI what is left of dst, CX its length in bytes; R8 and R9 a block number, its upper
// half first; vectors 0 to 7 blocks, 8 a round key, 9 the next numbers, the lower half of each first, 10 what is added
// to them, 11 reverse for each block.

// reverse, a shuffle, turns a 128-bit number's bytes around.
DATA reverse<>+0(SB)/8, $0x08090a0b0c0d0e0f
DATA reverse<>+8(SB)/8, $0x0001020304050607
GLOBL reverse<>(SB), RODATA|NOPTR, $16

#define ZERO_NUMBERS \
	XORQ AX, AX; \
	XORQ DX, DX; \
	XORQ R8, R8; \
	XORQ R9, R9

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

// ROUNDS does ROUND for each round: with its instruction, its key in memory, and the register that may keep the
// key for VAES512.
#define ROUNDS(ROUND) \
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

#define NEXT2 NEXT(V0); NEXT(V1)
#define NEXT4 NEXT2; NEXT(V2); NEXT(V3)
#define NEXT8 NEXT4; NEXT(V4); NEXT(V5); NEXT(V6); NEXT(V7)

#define AES2(AES) AES1(AES, V0); AES1(AES, V1)
#define AES4(AES) AES2(AES); AES1(AES, V2); AES1(AES, V3)
#define AES8(AES) AES4(AES); AES1(AES, V4); AES1(AES, V5); AES1(AES, V6); AES1(AES, V7)

#define ROUND1(AES, key, kept) KEY(key); AES1(AES, V0)
#define ROUND2(AES, key, kept) KEY(key); AES2(AES)
#define ROUND4(AES, key, kept) KEY(key); AES4(AES)
#define ROUND8(AES, key, kept) KEY(key); AES8(AES)

// ENCRYPT1, ENCRYPT2, ENCRYPT4 and ENCRYPT8 make the next 1, 2, 4 and 8 vectors of keystream.
#define ENCRYPT1 NEXT(V0); ROUNDS(ROUND1)
#define ENCRYPT2 NEXT2; ROUNDS(ROUND2)
#define ENCRYPT4 NEXT4; ROUNDS(ROUND4)
#define ENCRYPT8 NEXT8; ROUNDS(ROUND8)

// PUT2, PUT4 and PUT8 put out as many vectors, by PUT.
#define PUT2(PUT) PUT(V0, 0); PUT(V1, LEN)
#define PUT4(PUT) PUT2(PUT); PUT(V2, 2*LEN); PUT(V3, 3*LEN)
#define PUT8(PUT) PUT4(PUT); PUT(V4, 4*LEN); PUT(V5, 5*LEN); PUT(V6, 6*LEN); PUT(V7, 7*LEN)

// BULK puts out 8 vectors at a time while dst needs more than that.
#define BULK(ENCRYPT, PUT) \
bulk: \
	ENCRYPT; \
	PUT8(PUT); \
	ADDQ $(8*LEN), DI; \
	SUBQ $(8*LEN), CX; \
	CMPQ CX, $(8*LEN); \
	JA   bulk

// WHOLE puts out one of the last vectors, or jumps to cut if dst ends before the vector's end.
#define WHOLE(PUT, vector, at, cut) \
	CMPQ CX, $(at+LEN); \
	JB   cut; \
	PUT(vector, at)

// CUT takes over from WHOLE where dst ends in a vector: it moves the vector to the first one's register and jumps
// to part, which puts out its front, or to done if dst needs nothing of it.
#define CUT(cut, vector, at, part) \
cut: \
	SUBQ $(at), CX; \
	JEQ  done; \
	ADDQ $(at), DI; \
	MOVE vector, V0; \
	JMP  part

// REST puts out the last vectors: it makes 8, 4, 2 or 1 of them at once, and dst needs more than half of them. It jumps
// to done, or to part with the last one.
#define REST(PUT, part) \
	CMPQ CX, $LEN; \
	JBE  upTo1; \
	CMPQ CX, $(2*LEN); \
	JBE  upTo2; \
	CMPQ CX, $(4*LEN); \
	JBE  upTo4; \
	ENCRYPT8; \
	PUT4(PUT); \
	WHOLE(PUT, V4, 4*LEN, cut4Of8); \
	WHOLE(PUT, V5, 5*LEN, cut5Of8); \
	WHOLE(PUT, V6, 6*LEN, cut6Of8); \
	WHOLE(PUT, V7, 7*LEN, cut7Of8); \
	JMP  done; \
	CUT(cut4Of8, V4, 4*LEN, part); \
	CUT(cut5Of8, V5, 5*LEN, part); \
	CUT(cut6Of8, V6, 6*LEN, part); \
	CUT(cut7Of8, V7, 7*LEN, part); \
upTo4: \
	ENCRYPT4; \
	PUT2(PUT); \
	WHOLE(PUT, V2, 2*LEN, cut2Of4); \
	WHOLE(PUT, V3, 3*LEN, cut3Of4); \
	JMP  done; \
	CUT(cut2Of4, V2, 2*LEN, part); \
	CUT(cut3Of4, V3, 3*LEN, part); \
upTo2: \
	ENCRYPT2; \
	PUT(V0, 0); \
	WHOLE(PUT, V1, LEN, cut1Of2); \
	JMP  done; \
	CUT(cut1Of2, V1, LEN, part); \
upTo1: \
	ENCRYPT1; \
	WHOLE(PUT, V0, 0, part); \
	JMP  done

// HALF puts out the lower half of vector 0, if dst needs all of that, and makes the upper half the lower.
#define HALF(length, below, half, EXTRACT, vector) \
	TESTQ   $length, CX; \
	JEQ     below; \
	VMOVDQU half, (DI); \
	EXTRACT $1, vector, half; \
	ADDQ    $length, DI; \
below:

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

// NOTHING is what PARTIAL does before it replaces bytes of dst.
#define NOTHING(LOAD)

// AFTER_CARRY makes the keystream of a request within which the lower half of the counter overflows, which no
// caller will ever see unless it chooses the counter: one block at a time, the first of vector 0.
#define AFTER_CARRY \
	MOVOU  reverse<>(SB), X11; \
carryNext: \
	ADDQ   $1, R9; \
	ADCQ   $0, R8; \
	MOVQ   R9, X9; \
	PINSRQ $1, R8, X9; \
	ENCRYPT1; \
	CMPQ   CX, $16; \
	JB     carryDone; \
	MOVOU  X0, (DI); \
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
