//go:build linux && arm64 && !purego

#include "textflag.h"

// What captures, clears and loads registers. The file is at R0: vectors, 64 bytes for each, then masks, then general
// registers. Each list of registers does DO with a register, by both of its names if it is a vector, and its place
// in the file.

#define EACH_VECTOR(DO) \
	DO(F0, V0, 0); DO(F1, V1, 64); DO(F2, V2, 128); DO(F3, V3, 192); \
	DO(F4, V4, 256); DO(F5, V5, 320); DO(F6, V6, 384); DO(F7, V7, 448); \
	DO(F8, V8, 512); DO(F9, V9, 576); DO(F10, V10, 640); DO(F11, V11, 704); \
	DO(F12, V12, 768); DO(F13, V13, 832); DO(F14, V14, 896); DO(F15, V15, 960); \
	DO(F16, V16, 1024); DO(F17, V17, 1088); DO(F18, V18, 1152); DO(F19, V19, 1216); \
	DO(F20, V20, 1280); DO(F21, V21, 1344); DO(F22, V22, 1408); DO(F23, V23, 1472); \
	DO(F24, V24, 1536); DO(F25, V25, 1600); DO(F26, V26, 1664); DO(F27, V27, 1728); \
	DO(F28, V28, 1792); DO(F29, V29, 1856); DO(F30, V30, 1920); DO(F31, V31, 1984)

#define EACH_GENERAL(DO) \
	DO(R1, 2112); DO(R2, 2120); DO(R3, 2128); DO(R4, 2136); \
	DO(R5, 2144); DO(R6, 2152); DO(R7, 2160); DO(R8, 2168); \
	DO(R9, 2176); DO(R10, 2184); DO(R11, 2192); DO(R12, 2200); \
	DO(R13, 2208); DO(R14, 2216); DO(R15, 2224); DO(R16, 2232); \
	DO(R17, 2240); DO(R19, 2248); DO(R20, 2256); DO(R21, 2264); \
	DO(R22, 2272); DO(R23, 2280); DO(R24, 2288); DO(R25, 2296); \
	DO(R26, 2304)

#define STORE_VECTOR(F, V, at) FMOVQ F, at(R0)
#define CLEAR_VECTOR(F, V, at) VEOR V.B16, V.B16, V.B16
#define LOAD_VECTOR(F, V, at) FMOVQ at(R0), F
#define STORE_GENERAL(register, at) MOVD register, at(R0)
#define CLEAR_GENERAL(register, at) MOVD ZR, register

// func Look(file *File)
TEXT ·Look(SB), NOSPLIT, $0-8
	MOVD file+0(FP), R0
	EACH_GENERAL(STORE_GENERAL)
	EACH_VECTOR(STORE_VECTOR)
	EACH_VECTOR(CLEAR_VECTOR)
	EACH_GENERAL(CLEAR_GENERAL)
	RET

// func load(file *File)
TEXT ·load(SB), NOSPLIT, $0-8
	MOVD file+0(FP), R0
	EACH_VECTOR(LOAD_VECTOR)
	RET

// func HasConstantTime() bool
TEXT ·HasConstantTime(SB), NOSPLIT, $0-1
	MRS  DIT, R0
	LSR  $24, R0
	MOVB R0, ret+0(FP)
	RET
