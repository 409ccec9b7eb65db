//go:build !amd64 || purego

package aes256

const (
	hasAssembly = false
	hasRandom   = false
)
