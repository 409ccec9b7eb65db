//go:build !linux

package kernel

// FillFresh is [Fill]: other systems have no other way.
func FillFresh(out []byte) { Fill(out) }
