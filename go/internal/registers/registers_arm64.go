//go:build linux && arm64 && !purego

package registers

// names are the general registers that a [File] has. Of the others R0 holds the file's own address, and R18, R27
// to R30 and RSP are the system's and Go's.
var names = [...]string{
	"R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8", "R9", "R10", "R11", "R12", "R13",
	"R14", "R15", "R16", "R17", "R19", "R20", "R21", "R22", "R23", "R24", "R25", "R26",
}

// registerCount returns the number of vector registers that a File has on this CPU, and of lanes of each.
func registerCount() (registers, lanes int) { return 32, 1 }

// Look captures the registers, and clears all of them, because Go also copies memory by general registers.
//
//go:noescape
func Look(file *File)

// load sets the vector registers.
//
//go:noescape
func load(file *File)

// HasConstantTime reports whether PSTATE.DIT is set on this thread. The CPU must have it.
//
//go:noescape
func HasConstantTime() bool
