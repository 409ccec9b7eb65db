//go:build (!amd64 && !(linux && arm64)) || purego

package aes256

const (
	hasAssembly = false
	hasRandom   = false
)

func isPaused() bool { return false }
