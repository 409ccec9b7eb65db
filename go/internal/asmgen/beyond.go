package main

import (
	"github.com/mmcloughlin/avo/ir"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
)

// Instructions that the assembler knows and avo does not: it has neither RDRAND nor RDPID, and the AES
// rounds only for 128-bit registers.

// rdrand writes RDRAND.
func rdrand(word Op) {
	Instruction(&ir.Instruction{
		Opcode:   "RDRANDQ",
		Operands: []Op{word},
		Outputs:  []Op{word},
		ISA:      []string{"RDRAND"},
	})
}

// rdpid writes RDPID.
func rdpid(number Op) {
	Instruction(&ir.Instruction{
		Opcode:   "RDPID",
		Operands: []Op{number},
		Outputs:  []Op{number},
		ISA:      []string{"RDPID"},
	})
}

// vaes writes VAESENC or VAESENCLAST on 512-bit registers.
func vaes(opcode string, key, vector Op) {
	Instruction(&ir.Instruction{
		Opcode:   opcode,
		Operands: []Op{key, vector, vector},
		Inputs:   []Op{key, vector},
		Outputs:  []Op{vector},
		ISA:      []string{"AVX512F", "VAES"},
	})
}
