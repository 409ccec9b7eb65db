//go:build linux && arm64 && !purego

package aes256

// expand writes the 15 round keys of key.
//
//go:noescape
func expand(key *[32]byte, keys *[240]byte)

// keystream fills dst, which is not empty, with keystream from block counter+1 on, and counts.
//
//go:noescape
func keystream(keys *[240]byte, counter *[16]byte, dst []byte)

// pad XORs keystream from block number word<<64 | cycles<<4 on into dst, which is at most 256 bytes and not
// empty. source says where the numbers come from: 0, the caller; 1, the counter replaces cycles; 2, and a word
// of the random instruction is XORed into word. missing is 1 if the instruction gave no word.
//
//go:noescape
func pad(keys *[240]byte, dst []byte, source int, word uint64, cycles uint64) (missing uint64)

// xorNoise XORs into out the counter and up to two words of the random instruction. missing is the number of
// words that the instruction did not give.
//
//go:noescape
func xorNoise(out *[3]uint64, words uint64) (missing uint64)

// xor writes the XOR of first and second, or first where second is nil.
//
//go:noescape
func xor(out *[48]byte, first *[48]byte, second *[48]byte)

// take moves len(dst) bytes from src to dst, at least 16, and leaves zeros in src.
//
//go:noescape
func take(dst []byte, src *byte)

// readCounter reads the counter after all earlier instructions.
//
//go:noescape
func readCounter() uint64
