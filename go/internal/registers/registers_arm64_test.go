//go:build linux && arm64 && !purego

package registers

// registerCount returns the number of vector registers that a File has on this CPU, and of lanes of each.
func registerCount() (registers, lanes int) { return 32, 1 }
