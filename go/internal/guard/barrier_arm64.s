//go:build linux && arm64 && !purego

#include "textflag.h"

// func readBeforeChecking()
TEXT ·readBeforeChecking(SB), NOSPLIT, $0-0
	DMB $0x9 // ISHLD
	RET

// func markBeforeGoingOn()
TEXT ·markBeforeGoingOn(SB), NOSPLIT, $0-0
	DMB $0xb // ISH
	RET
