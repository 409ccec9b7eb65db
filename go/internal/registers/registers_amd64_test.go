//go:build amd64 && !purego

package registers

// registerCount returns the number of vector registers that a File has on this CPU, and of lanes of each.
func registerCount() (registers, lanes int) {
	if HasAVX512 {
		return 32, 4
	}
	return 16, 1
}
