//go:build linux && arm64 && !purego

#include "textflag.h"

// AES-256 by AESE and AESMC. AESE adds a round key before SubBytes and ShiftRows, AESMC is MixColumns; CPUs
// execute a pair of them as one if they are adjacent (Arm Neoverse N1, N2 and V1 Software Optimization
// Guides, "AES encryption/decryption"). No function has a stack frame. Each function erases
// the registers that it used after the comment "erase"; the control in package registers leaves that out.

// While a function has a key, PSTATE.DIT is set: Arm promises only then that the time of its instructions does
// not depend on data. The signals that may interrupt it do not change that, and Go does not preempt assembly.

// BEGIN_CONSTANT_TIME sets PSTATE.DIT, if the CPU has it. R8 keeps what it was.
#define BEGIN_CONSTANT_TIME \
	MOVD  $(1<<24), R8; \
	MOVBU ·hasDIT(SB), R9; \
	CBZ   R9, begun; \
	MRS   DIT, R8; \
	TBNZ  $24, R8, begun; \
	MSR   $1, DIT; \
begun:

// END_CONSTANT_TIME restores PSTATE.DIT.
#define END_CONSTANT_TIME \
	TBNZ $24, R8, ended; \
	MSR  $0, DIT; \
ended:

// Registers: R0 the round keys, R1 what is left of dst, R2 its length in bytes; V0 to V11 blocks, V16 to V30
// the round keys, V12 the number of the next block, its upper half first, V13 the number 1.

#define LOAD_KEYS \
	VLD1.P 64(R0), [V16.B16, V17.B16, V18.B16, V19.B16]; \
	VLD1.P 64(R0), [V20.B16, V21.B16, V22.B16, V23.B16]; \
	VLD1.P 64(R0), [V24.B16, V25.B16, V26.B16, V27.B16]; \
	VLD1   (R0), [V28.B16, V29.B16, V30.B16]

// NEXT makes a block of the next number.
#define NEXT(block) \
	VREV64 V12.B16, block.B16; \
	VADD   V13.D2, V12.D2, V12.D2

#define NEXT4 NEXT(V0); NEXT(V1); NEXT(V2); NEXT(V3)
#define NEXT12 NEXT4; NEXT(V4); NEXT(V5); NEXT(V6); NEXT(V7); NEXT(V8); NEXT(V9); NEXT(V10); NEXT(V11)

#define PAIR(key, block) \
	AESE  key.B16, block.B16; \
	AESMC block.B16, block.B16

#define PAIR1(key) PAIR(key, V0)
#define PAIR4(key) PAIR(key, V0); PAIR(key, V1); PAIR(key, V2); PAIR(key, V3)
#define PAIR12(key) PAIR4(key); \
	PAIR(key, V4); PAIR(key, V5); PAIR(key, V6); PAIR(key, V7); \
	PAIR(key, V8); PAIR(key, V9); PAIR(key, V10); PAIR(key, V11)

#define LAST(block) \
	AESE V29.B16, block.B16; \
	VEOR V30.B16, block.B16, block.B16

#define ENCRYPT1 \
	PAIR1(V16); PAIR1(V17); PAIR1(V18); PAIR1(V19); PAIR1(V20); PAIR1(V21); PAIR1(V22); \
	PAIR1(V23); PAIR1(V24); PAIR1(V25); PAIR1(V26); PAIR1(V27); PAIR1(V28); \
	LAST(V0)

#define ENCRYPT4 \
	PAIR4(V16); PAIR4(V17); PAIR4(V18); PAIR4(V19); PAIR4(V20); PAIR4(V21); PAIR4(V22); \
	PAIR4(V23); PAIR4(V24); PAIR4(V25); PAIR4(V26); PAIR4(V27); PAIR4(V28); \
	LAST(V0); LAST(V1); LAST(V2); LAST(V3)

#define ENCRYPT12 \
	PAIR12(V16); PAIR12(V17); PAIR12(V18); PAIR12(V19); PAIR12(V20); PAIR12(V21); PAIR12(V22); \
	PAIR12(V23); PAIR12(V24); PAIR12(V25); PAIR12(V26); PAIR12(V27); PAIR12(V28); \
	LAST(V0); LAST(V1); LAST(V2); LAST(V3); LAST(V4); LAST(V5); \
	LAST(V6); LAST(V7); LAST(V8); LAST(V9); LAST(V10); LAST(V11)

#define ZERO(vector) VEOR vector.B16, vector.B16, vector.B16
#define ZERO_BLOCKS \
	ZERO(V0); ZERO(V1); ZERO(V2); ZERO(V3); ZERO(V4); ZERO(V5); ZERO(V6); ZERO(V7)
#define ZERO_ALL ZERO_BLOCKS; \
	ZERO(V8); ZERO(V9); ZERO(V10); ZERO(V11); ZERO(V12); ZERO(V13); ZERO(V16); ZERO(V17); \
	ZERO(V18); ZERO(V19); ZERO(V20); ZERO(V21); ZERO(V22); ZERO(V23); ZERO(V24); ZERO(V25); \
	ZERO(V26); ZERO(V27); ZERO(V28); ZERO(V29); ZERO(V30)
#define ZERO_NUMBERS \
	MOVD ZR, R4; \
	MOVD ZR, R5; \
	MOVD ZR, R6; \
	MOVD ZR, R7

// STREAM makes keystream from the next block on for all of dst, four blocks at once and then one. Before it puts
// blocks out it does FOUR, ONE or, before each store of a block's front, PART with the instruction that loads as many
// bytes. It jumps to done.
#define STREAM(FOUR, ONE, PART) \
fours: \
	CMP    $64, R2; \
	BLO    ones; \
	NEXT4; \
	ENCRYPT4; \
	FOUR(R1); \
	VST1.P [V0.B16, V1.B16, V2.B16, V3.B16], 64(R1); \
	SUB    $64, R2; \
	B      fours; \
ones: \
	CBZ    R2, done; \
	NEXT(V0); \
	ENCRYPT1; \
	CMP    $16, R2; \
	BLO    partial; \
	ONE(R1); \
	VST1.P [V0.B16], 16(R1); \
	SUB    $16, R2; \
	B      ones; \
partial: \
	VMOV   V0.D[0], R4; \
	VMOV   V0.D[1], R5; \
	TBZ    $3, R2, below8; \
	PART(MOVD); \
	MOVD.P R4, 8(R1); \
	MOVD   R5, R4; \
below8: \
	TBZ    $2, R2, below4; \
	PART(MOVWU); \
	MOVW.P R4, 4(R1); \
	LSR    $32, R4; \
below4: \
	TBZ    $1, R2, below2; \
	PART(MOVHU); \
	MOVH.P R4, 2(R1); \
	LSR    $16, R4; \
below2: \
	TBZ    $0, R2, done; \
	PART(MOVBU); \
	MOVB   R4, (R1)

// What STREAM does before a store: nothing to replace dst, or it XORs dst into the blocks.
#define NOTHING(argument)
#define COMBINE4(dst) \
	VLD1 (dst), [V4.B16, V5.B16, V6.B16, V7.B16]; \
	VEOR V4.B16, V0.B16, V0.B16; \
	VEOR V5.B16, V1.B16, V1.B16; \
	VEOR V6.B16, V2.B16, V2.B16; \
	VEOR V7.B16, V3.B16, V3.B16
#define COMBINE1(dst) \
	VLD1 (dst), [V4.B16]; \
	VEOR V4.B16, V0.B16, V0.B16
#define COMBINE_PART(LOAD) \
	LOAD (R1), R6; \
	EOR  R6, R4

// RANDOM draws a word of the random instruction and jumps to done with it. If the instruction fails 10 times, it
// counts a missing word and goes on with zero.
#define RANDOM(word, missing, retry, done) \
	MOVD $10, R3; \
retry: \
	MRS  RNDR, word; \
	BNE  done; \
	SUBS $1, R3; \
	BNE  retry; \
	MOVD ZR, word; \
	ADD  $1, missing

// READ_CYCLES reads the counter after all earlier instructions.
#define READ_CYCLES(count) \
	ISB $15; \
	MRS CNTVCT_EL0, count

// func keystream(keys *[240]byte, counter *[16]byte, dst []byte)
TEXT ·keystream(SB), NOSPLIT, $0-40
	BEGIN_CONSTANT_TIME
	MOVD keys+0(FP), R0
	MOVD counter+8(FP), R3
	MOVD dst_base+16(FP), R1
	MOVD dst_len+24(FP), R2
	LOAD_KEYS
	LDP  (R3), (R4, R5)
	REV  R4, R4
	REV  R5, R5
	// The last number. Its lower half overflows only if a caller chooses such a counter.
	ADD  $15, R2, R6
	LSR  $4, R6
	ADDS R5, R6
	BCS  carry
	REV  R6, R6
	MOVD R6, 8(R3)
	MOVD $1, R6
	VEOR V13.B16, V13.B16, V13.B16
	VMOV R6, V13.D[1]
	VMOV R4, V12.D[0]
	VMOV R5, V12.D[1]
	VADD V13.D2, V12.D2, V12.D2

	CMP $192, R2
	BLO fours

bulk:
	NEXT12
	ENCRYPT12
	VST1.P [V0.B16, V1.B16, V2.B16, V3.B16], 64(R1)
	VST1.P [V4.B16, V5.B16, V6.B16, V7.B16], 64(R1)
	VST1.P [V8.B16, V9.B16, V10.B16, V11.B16], 64(R1)
	SUB    $192, R2
	CMP    $192, R2
	BHS    bulk
	STREAM(NOTHING, NOTHING, NOTHING)

done:
	// erase
	ZERO_ALL
	ZERO_NUMBERS
	END_CONSTANT_TIME
	RET

	// One block at a time.
carry:
	CBZ  R2, counted
	ADDS $1, R5
	ADC  ZR, R4
	VMOV R4, V12.D[0]
	VMOV R5, V12.D[1]
	VREV64 V12.B16, V0.B16
	ENCRYPT1
	CMP $16, R2
	BLO counted
	VST1.P [V0.B16], 16(R1)
	SUB    $16, R2
	B      carry

counted:
	REV R4, R4
	REV R5, R5
	STP (R4, R5), (R3)
	CBNZ R2, partial
	B    done

// func pad(keys *[240]byte, dst []byte, source int, word uint64, cycles uint64) (missing uint64)
TEXT ·pad(SB), NOSPLIT, $0-64
	BEGIN_CONSTANT_TIME
	MOVD keys+0(FP), R0
	MOVD dst_base+8(FP), R1
	MOVD dst_len+16(FP), R2
	MOVD source+32(FP), R3
	MOVD word+40(FP), R4
	MOVD cycles+48(FP), R5
	MOVD ZR, R6
	CBZ  R3, known
	CMP  $1, R3
	BEQ  drawn
	RANDOM(R7, R6, retry, combine)

combine:
	EOR R7, R4

drawn:
	READ_CYCLES(R5)

known:
	MOVD R6, missing+56(FP)
	LSL  $4, R5
	LOAD_KEYS
	MOVD $1, R6
	VEOR V13.B16, V13.B16, V13.B16
	VMOV R6, V13.D[1]
	VMOV R4, V12.D[0]
	VMOV R5, V12.D[1]
	STREAM(COMBINE4, COMBINE1, COMBINE_PART)

done:
	// erase
	ZERO_ALL
	ZERO_NUMBERS
	END_CONSTANT_TIME
	RET

// SHIFTED_SUM makes word i of key the XOR of its words 0 to i. V7 is zero.
#define SHIFTED_SUM(key) \
	VEXT $12, key.B16, V7.B16, V2.B16; \
	VEOR V2.B16, key.B16, key.B16; \
	VEXT $8, key.B16, V7.B16, V2.B16; \
	VEOR V2.B16, key.B16, key.B16

// SUB_WORD makes SubWord of key's last word, in all four words of V3. AESE with a key of zeros is SubBytes
// and ShiftRows, and ShiftRows does not change a state whose four columns are equal.
#define SUB_WORD(key) \
	VDUP key.S[3], V3.S4; \
	AESE V7.B16, V3.B16

// EVEN makes the next even round key, with a round constant.
#define EVEN(constant) \
	SUB_WORD(V1); \
	VSHL $24, V3.S4, V4.S4; \
	VSRI $8, V3.S4, V4.S4; \
	MOVD $constant, R3; \
	VDUP R3, V5.S4; \
	VEOR V5.B16, V4.B16, V4.B16; \
	SHIFTED_SUM(V0); \
	VEOR V4.B16, V0.B16, V0.B16; \
	VST1.P [V0.B16], 16(R1)

// ODD makes the next odd round key.
#define ODD \
	SUB_WORD(V0); \
	SHIFTED_SUM(V1); \
	VEOR V3.B16, V1.B16, V1.B16; \
	VST1.P [V1.B16], 16(R1)

// The key expansion of FIPS 197 section 5.2, without tables.
//
// func Expand(key *[32]byte, keys *[240]byte)
TEXT ·Expand(SB), NOSPLIT, $0-16
	BEGIN_CONSTANT_TIME
	MOVD key+0(FP), R0
	MOVD keys+8(FP), R1
	VLD1 (R0), [V0.B16, V1.B16]
	VST1.P [V0.B16, V1.B16], 32(R1)
	VEOR V7.B16, V7.B16, V7.B16
	EVEN(0x01)
	ODD
	EVEN(0x02)
	ODD
	EVEN(0x04)
	ODD
	EVEN(0x08)
	ODD
	EVEN(0x10)
	ODD
	EVEN(0x20)
	ODD
	EVEN(0x40)
	// erase
	ZERO_BLOCKS
	END_CONSTANT_TIME
	RET

// func xorNoise(out *[3]uint64, words uint64) (missing uint64)
TEXT ·xorNoise(SB), NOSPLIT, $0-24
	MOVD out+0(FP), R0
	MOVD words+8(FP), R1
	MOVD ZR, R5
	MOVD ZR, R6
	MOVD ZR, R7
	CBZ  R1, drawn
	RANDOM(R5, R7, first, second)

second:
	CMP  $1, R1
	BEQ  drawn
	RANDOM(R6, R7, retry, drawn)

drawn:
	MOVD R7, missing+16(FP)
	READ_CYCLES(R4)
	MOVD (R0), R7
	EOR  R7, R4
	MOVD R4, (R0)
	MOVD 8(R0), R7
	EOR  R7, R5
	MOVD R5, 8(R0)
	MOVD 16(R0), R7
	EOR  R7, R6
	MOVD R6, 16(R0)
	// erase
	ZERO_NUMBERS
	RET

// func XOR(out, first, second *[48]byte)
TEXT ·XOR(SB), NOSPLIT, $0-24
	MOVD out+0(FP), R0
	MOVD first+8(FP), R1
	MOVD second+16(FP), R2
	VLD1 (R1), [V0.B16, V1.B16, V2.B16]
	CBZ  R2, summed
	VLD1 (R2), [V3.B16, V4.B16, V5.B16]
	VEOR V3.B16, V0.B16, V0.B16
	VEOR V4.B16, V1.B16, V1.B16
	VEOR V5.B16, V2.B16, V2.B16

summed:
	VST1 [V0.B16, V1.B16, V2.B16], (R0)
	// erase
	ZERO_BLOCKS
	RET

// MOVE moves R2 bytes, at least 16, from R3 to R1, and leaves zeros. It reads the last 16 first, because the loop
// may clear some of them.
#define MOVE \
	ADD  R2, R3, R4; \
	SUB  $16, R4; \
	ADD  R2, R1, R5; \
	SUB  $16, R5; \
	VLD1 (R4), [V1.B16]; \
	B    test

// func take(dst []byte, src *byte)
TEXT ·take(SB), NOSPLIT, $0-32
	MOVD dst_base+0(FP), R1
	MOVD dst_len+8(FP), R2
	MOVD src+24(FP), R3
	VEOR V2.B16, V2.B16, V2.B16
	MOVE

loop:
	VLD1   (R3), [V0.B16]
	VST1.P [V0.B16], 16(R1)
	VST1.P [V2.B16], 16(R3)

test:
	CMP  R4, R3
	BLO  loop
	VST1 [V1.B16], (R5)
	VST1 [V2.B16], (R4)
	// erase
	ZERO_BLOCKS
	RET
