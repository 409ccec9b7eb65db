//go:build linux && amd64 && !purego

#include "textflag.h"

// What captures, clears and loads registers. The file is at AX: vectors, 64 bytes for each, then masks, then general
// registers. Each list of registers does DO with a register and its place in the file.

#define EACH_X(DO) \
	DO(X0, 0); DO(X1, 64); DO(X2, 128); DO(X3, 192); DO(X4, 256); \
	DO(X5, 320); DO(X6, 384); DO(X7, 448); DO(X8, 512); DO(X9, 576); \
	DO(X10, 640); DO(X11, 704); DO(X12, 768); DO(X13, 832); DO(X14, 896); \
	DO(X15, 960)

#define EACH_Y(DO) \
	DO(Y0, 0); DO(Y1, 64); DO(Y2, 128); DO(Y3, 192); DO(Y4, 256); \
	DO(Y5, 320); DO(Y6, 384); DO(Y7, 448); DO(Y8, 512); DO(Y9, 576); \
	DO(Y10, 640); DO(Y11, 704); DO(Y12, 768); DO(Y13, 832); DO(Y14, 896); \
	DO(Y15, 960)

#define EACH_Z(DO) \
	DO(Z0, 0); DO(Z1, 64); DO(Z2, 128); DO(Z3, 192); \
	DO(Z4, 256); DO(Z5, 320); DO(Z6, 384); DO(Z7, 448); \
	DO(Z8, 512); DO(Z9, 576); DO(Z10, 640); DO(Z11, 704); \
	DO(Z12, 768); DO(Z13, 832); DO(Z14, 896); DO(Z15, 960); \
	DO(Z16, 1024); DO(Z17, 1088); DO(Z18, 1152); DO(Z19, 1216); \
	DO(Z20, 1280); DO(Z21, 1344); DO(Z22, 1408); DO(Z23, 1472); \
	DO(Z24, 1536); DO(Z25, 1600); DO(Z26, 1664); DO(Z27, 1728); \
	DO(Z28, 1792); DO(Z29, 1856); DO(Z30, 1920); DO(Z31, 1984)

#define EACH_K(DO) \
	DO(K0, 2048); DO(K1, 2056); DO(K2, 2064); DO(K3, 2072); \
	DO(K4, 2080); DO(K5, 2088); DO(K6, 2096); DO(K7, 2104)

#define EACH_GENERAL(DO) \
	DO(BX, 2112); DO(CX, 2120); DO(DX, 2128); DO(SI, 2136); \
	DO(DI, 2144); DO(R8, 2152); DO(R9, 2160); DO(R10, 2168); \
	DO(R11, 2176); DO(R12, 2184); DO(R13, 2192); DO(R15, 2200)

#define STORE_GENERAL(register, at) MOVQ register, at(AX)
#define STORE_X(register, at) MOVOU register, at(AX)
#define STORE_Y(register, at) VMOVUPS register, at(AX)
#define STORE_Z(register, at) VMOVDQU64 register, at(AX)
#define STORE_K(register, at) KMOVQ register, at(AX)
#define CLEAR_X(register, at) PXOR register, register
#define CLEAR_Z(register, at) VPXORQ register, register, register
#define CLEAR_K(register, at) KXORQ register, register, register
#define LOAD_X(register, at) MOVOU at(AX), register
#define LOAD_Y(register, at) VMOVUPS at(AX), register
#define LOAD_Z(register, at) VMOVDQU64 at(AX), register
#define LOAD_K(register, at) KMOVQ at(AX), register

// func captureX(file *File)
TEXT ·captureX(SB), NOSPLIT, $0-8
	MOVQ file+0(FP), AX
	EACH_GENERAL(STORE_GENERAL)
	EACH_X(STORE_X)
	EACH_X(CLEAR_X)
	RET

// func captureY(file *File)
TEXT ·captureY(SB), NOSPLIT, $0-8
	MOVQ file+0(FP), AX
	EACH_GENERAL(STORE_GENERAL)
	EACH_Y(STORE_Y)
	VZEROALL
	RET

// func captureZ(file *File)
TEXT ·captureZ(SB), NOSPLIT, $0-8
	MOVQ file+0(FP), AX
	EACH_GENERAL(STORE_GENERAL)
	EACH_Z(STORE_Z)
	EACH_Z(CLEAR_Z)
	EACH_K(STORE_K)
	EACH_K(CLEAR_K)
	VZEROUPPER
	RET

// func loadX(file *File)
TEXT ·loadX(SB), NOSPLIT, $0-8
	MOVQ file+0(FP), AX
	EACH_X(LOAD_X)
	RET

// func loadY(file *File)
TEXT ·loadY(SB), NOSPLIT, $0-8
	MOVQ file+0(FP), AX
	EACH_Y(LOAD_Y)
	RET

// func loadZ(file *File)
TEXT ·loadZ(SB), NOSPLIT, $0-8
	MOVQ file+0(FP), AX
	EACH_Z(LOAD_Z)
	EACH_K(LOAD_K)
	RET
