//go:build linux && arm64 && !purego

#include "textflag.h"

// func callVDSO(function uintptr, out unsafe.Pointer, length uintptr, state unsafe.Pointer, stateLength uintptr) int64
//
// Calls the vDSO's getrandom by the C calling convention (AAPCS64, sections 6.1 and 6.4) on the goroutine's own
// stack: from the top of a frame, whose 8000 bytes below are the function's. It is built to keep no secrets on
// the stack, and uses a few hundred bytes. It preserves R19 to R29.
TEXT ·callVDSO(SB), 0, $8192-48
	MOVD function+0(FP), R8
	MOVD out+8(FP), R0
	MOVD length+16(FP), R1
	MOVD ZR, R2
	MOVD state+24(FP), R3
	MOVD stateLength+32(FP), R4
	MOVD RSP, R20
	ADD  $8000, R20, R9
	BIC  $15, R9
	MOVD R9, RSP
	BL   (R8)
	MOVD R20, RSP
	MOVD R0, ret+40(FP)
	RET

// func readBeforeChecking()
TEXT ·readBeforeChecking(SB), NOSPLIT, $0-0
	DMB $0x9 // ISHLD
	RET

// func markBeforeGoingOn()
TEXT ·markBeforeGoingOn(SB), NOSPLIT, $0-0
	DMB $0xb // ISH
	RET
