//go:build amd64 && !purego

package registers

import "golang.org/x/sys/cpu"

// names are the general registers that a [File] has. Of the others AX holds the file's own address, and
// BP, SP and R14 are Go's.
var names = [...]string{"BX", "CX", "DX", "SI", "DI", "R8", "R9", "R10", "R11", "R12", "R13", "R15"}

//go:noescape
func lookX(file *File)

//go:noescape
func lookZ(file *File)

//go:noescape
func loadX(file *File)

//go:noescape
func loadZ(file *File)

// IsWhole tells whether this CPU has all of the registers that a [File] has.
var IsWhole = cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW

// Look writes what registers hold, and clears the vector and mask registers.
//
//go:nosplit
func Look(file *File) {
	if IsWhole {
		lookZ(file)
	} else {
		lookX(file)
	}
}

// load sets the vector and mask registers.
func load(file *File) {
	if IsWhole {
		loadZ(file)
	} else {
		loadX(file)
	}
}
