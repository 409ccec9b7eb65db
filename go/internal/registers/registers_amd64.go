//go:build linux && amd64 && !purego

package registers

import "golang.org/x/sys/cpu"

// names are the general registers that a [File] has. Of the others AX holds the file's own address, and
// BP, SP and R14 are Go's.
var names = [...]string{"BX", "CX", "DX", "SI", "DI", "R8", "R9", "R10", "R11", "R12", "R13", "R15"}

//go:noescape
func captureX(file *File)

//go:noescape
func captureY(file *File)

//go:noescape
func captureZ(file *File)

//go:noescape
func loadX(file *File)

//go:noescape
func loadY(file *File)

//go:noescape
func loadZ(file *File)

// HasAVX512 reports whether this CPU has all of the registers that a [File] has.
var HasAVX512 = cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW

// registerCount returns the number of vector registers that a File has on this CPU, and of lanes of each.
func registerCount() (registers, lanes int) {
	switch {
	case HasAVX512:
		return 32, 4
	case cpu.X86.HasAVX:
		return 16, 2
	default:
		return 16, 1
	}
}

// Look captures the registers, and clears the vector and mask registers.
//
//go:nosplit
func Look(file *File) {
	switch {
	case HasAVX512:
		captureZ(file)
	case cpu.X86.HasAVX:
		captureY(file)
	default:
		captureX(file)
	}
}

// load sets the vector and mask registers.
func load(file *File) {
	switch {
	case HasAVX512:
		loadZ(file)
	case cpu.X86.HasAVX:
		loadY(file)
	default:
		loadX(file)
	}
}
