//go:build (!amd64 && !(linux && arm64)) || purego

// Builds without assembly have no engine; nothing but the detection may be called.

package aes256

const noEngine = "aes256: no engine in this build"

func detect() []Engine {
	return nil
}

// Expand panics: this build has no engine.
func Expand(key *[KeySize]byte, keys *[KeysSize]byte) {
	panic(noEngine)
}

// Keystream panics: this build has no engine.
func (e Engine) Keystream(keys *[KeysSize]byte, counter *[BlockSize]byte, dst []byte) {
	panic(noEngine)
}

// Pad panics: this build has no engine.
func Pad(keys *[KeysSize]byte, dst []byte, number uint64) {
	panic(noEngine)
}

// XORNoise panics: this build has no engine.
func XORNoise(out *[3]uint64, words uint64) {
	panic(noEngine)
}

// XOR panics: this build has no engine.
func XOR(out, first, second *[XORLen]byte) {
	panic(noEngine)
}

// Take panics: this build has no engine.
func Take(dst []byte, src *byte) {
	panic(noEngine)
}

// TakeAndReadCounter panics: this build has no engine.
func TakeAndReadCounter(dst []byte, src *byte, counter CounterMethod) (count, cpu uint64) {
	panic(noEngine)
}

// ReadCounter panics: this build has no engine.
func ReadCounter(counter CounterMethod) (count, cpu uint64) {
	panic(noEngine)
}

// HasRandom panics: this build has no engine.
func HasRandom() bool {
	panic(noEngine)
}
