//go:build amd64 && !purego

package aes256

// Vectors gives what is in all vector registers.
var Vectors = vectors
