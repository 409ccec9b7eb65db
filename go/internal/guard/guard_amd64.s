//go:build linux && amd64 && !purego

#include "textflag.h"

// func callGetrandom(function uintptr, out unsafe.Pointer, length uintptr, state unsafe.Pointer, stateLength uintptr) int64
//
// Calls the vDSO's getrandom by the C calling convention (System V ABI for AMD64, section 3.2) on
// the goroutine's own stack: from the top of a frame, whose 8000 bytes below are the function's. It is
// built to keep no secrets on the stack, and uses a few hundred bytes.
TEXT ·callGetrandom(SB), 0, $8192-48
	MOVQ function+0(FP), AX
	MOVQ out+8(FP), DI
	MOVQ length+16(FP), SI
	XORL DX, DX
	MOVQ state+24(FP), CX
	MOVQ stateLength+32(FP), R8
	MOVQ SP, R12
	ADDQ $8000, SP
	ANDQ $~15, SP
	CALL AX
	MOVQ R12, SP
	MOVQ AX, ret+40(FP)
	RET

// OWN_RECORD leaves wordOf for the record of this CPU in DX, with the CPU's number in the highest bits; BX has the
// records. The bits of RDPID's number above the lowest 12 are the CPU's node. There are no more CPUs than records.
#define OWN_RECORD \
	RDPID AX; \
	ANDL  $63, AX; \
	MOVL  AX, CX; \
	SHLL  $6, CX; \
	MOVQ  (BX)(CX*1), DX; \
	MOVL  8(BX)(CX*1), CX; \
	ROLQ  $32, DX; \
	SHLQ  $58, AX; \
	XORQ  CX, DX; \
	XORQ  AX, DX

// func ownRecord(records *records) uint64
TEXT ·ownRecord(SB), NOSPLIT, $0-16
	MOVQ records+0(FP), BX
	OWN_RECORD
	MOVQ DX, ret+8(FP)
	RET

// func tagOfOwnRecord(generation *uint64) Tag
TEXT ·tagOfOwnRecord(SB), NOSPLIT, $0-24
	MOVQ  ·ownRecords(SB), BX
	TESTQ BX, BX
	JEQ   others
	MOVQ  generation+0(FP), SI
	MOVQ  ·tickAddress(SB), DI
	MOVQ  (SI), SI
	ROLQ  $36, SI
	XORQ  (DI), SI
	MOVQ  SI, ret_Kernel+8(FP)
	OWN_RECORD
	MOVQ  DX, ret_VM+16(FP)
	RET

others:
	JMP ·tagAt(SB)

// func sumRecords(records *records) (versions, times uint64)
//
// A version and its time are 16 adjacent bytes. If KVM writes a record meanwhile, the sums are new ones anyway.
TEXT ·sumRecords(SB), NOSPLIT, $0-24
	MOVQ records+0(FP), SI
	MOVL $16, CX
	PXOR X0, X0
	PXOR X1, X1

next:
	MOVOU (SI), X2
	MOVOU 64(SI), X3
	PADDQ X2, X0
	PADDQ X3, X1
	MOVOU 128(SI), X2
	MOVOU 192(SI), X3
	PADDQ X2, X0
	PADDQ X3, X1
	ADDQ  $256, SI
	SUBL  $1, CX
	JNE   next
	PADDQ X1, X0
	MOVQ  X0, versions+8(FP)
	PSRLO $8, X0
	MOVQ  X0, times+16(FP)
	PXOR  X0, X0
	PXOR  X1, X1
	PXOR  X2, X2
	PXOR  X3, X3
	RET
