package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	. "github.com/mmcloughlin/avo/reg"
)

// byRDPID is the counter that is read by RDTSC between two RDPID. Every other one is read by RDTSCP,
// which takes twice as long as these three.
const byRDPID = 2

func readCounter() {
	function("readCounter", "func(counter uint64) (count uint64, cpu uint64)",
		"readCounter reads the cycle counter and the number of its CPU: by RDTSCP if counter is 1, by RDPID and RDTSC",
		"if it is 2. The number is in the upper half of cpu, and its complement in the lower half. If the thread",
		"moved to another CPU meanwhile, the halves come from different CPUs.")
	emitReadCounter()
	RET()
}

// reading reads the cycle counter and the number of its CPU, and returns both. What comes before it in the
// program was done when the counter is read, as far as an interruption of the program can tell: those
// come between two instructions.
func emitReadCounter() {
	before, after := R8, R9
	Load(Param("counter"), RBX)
	CMPQ(RBX, U8(byRDPID))
	JEQ(LabelRef("rdpid"))
	RDTSCP()
	MOVL(ECX, before.As32())
	MOVL(ECX, after.As32())
	JMP(LabelRef("read"))
	Label("rdpid")
	rdpid(before)
	RDTSC()
	rdpid(after)
	Label("read")
	SHLQ(U8(32), RDX)
	ORQ(RDX, RAX)
	SHLQ(U8(32), before)
	NOTL(after.As32())
	ORQ(after, before)
	Store(RAX, Return("count"))
	Store(before, Return("cpu"))
}
