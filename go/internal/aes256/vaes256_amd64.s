//go:build linux && amd64 && !purego

// AES-256 by VAES on 256-bit registers, of two blocks each, for CPUs without AVX-512.

#include "textflag.h"

#define LEN 32
#define V0 Y0
#define V1 Y1
#define V2 Y2
#define V3 Y3
#define V4 Y4
#define V5 Y5
#define V6 Y6
#define V7 Y7
#define NEXT(vector) \
	VPSHUFB Y11, Y9, vector; \
	VPADDQ  Y10, Y9, Y9
#define KEY(key) VBROADCASTI128 key, Y8
#define AES1(AES, vector) AES Y8, vector, vector
#define FIRST VPXOR
#define MIDDLE VAESENC
#define LAST VAESENCLAST
#define MOVE VMOVDQA

#include "keystream_amd64.h"

// firstTwo has the numbers 1 and 2, in two lanes.
DATA firstTwo<>+0(SB)/8, $1
DATA firstTwo<>+16(SB)/8, $2
GLOBL firstTwo<>(SB), RODATA|NOPTR, $32

// two is the 2 that steps two counters, in two lanes.
DATA two<>+0(SB)/8, $2
DATA two<>+16(SB)/8, $2
GLOBL two<>(SB), RODATA|NOPTR, $32

#define REPLACE(vector, at) VMOVDQU vector, (at)(DI)

// func keystreamVAES256(keys *[240]byte, counter *[16]byte, dst []byte)
TEXT ·keystreamVAES256(SB), NOSPLIT, $0-40
	MOVQ           keys+0(FP), SI
	MOVQ           counter+8(FP), DX
	MOVQ           dst_base+16(FP), DI
	MOVQ           dst_len+24(FP), CX
	COUNT
	VMOVQ          R9, X9
	VPINSRQ        $1, R8, X9, X9
	VINSERTI128    $1, X9, Y9, Y9
	VPADDQ         firstTwo<>(SB), Y9, Y9
	VMOVDQU        two<>(SB), Y10
	VBROADCASTI128 reverse<>(SB), Y11
	CMPQ           CX, $(8*LEN)
	JBE            rest
	BULK(ENCRYPT8, REPLACE)

rest:
	REST(REPLACE, cutVector)

cutVector:
	HALF(16, below16, X0, VEXTRACTI128, Y0)
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
