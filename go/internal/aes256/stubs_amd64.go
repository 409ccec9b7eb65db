//go:build amd64 && !purego

package aes256

// expand writes the 15 round keys of key.
//
//go:noescape
func expand(key *[32]byte, keys *[240]byte)

// keystreamAESNI fills dst, which is not empty, with keystream from block counter+1 on, and counts.
//
//go:noescape
func keystreamAESNI(keys *[240]byte, counter *[16]byte, dst []byte)

// keystreamVAES512 is keystreamAESNI by VAES on 512-bit registers.
//
//go:noescape
func keystreamVAES512(keys *[240]byte, counter *[16]byte, dst []byte)

// pad XORs keystream from block number word<<64 | cycles<<4 on into dst, which is at most 256 bytes and not
// empty. source says where the numbers come from: 0, the caller; 1, the cycle counter replaces cycles; 2, and a
// word of the random instruction is XORed into word. missing is 1 if the instruction gave no word.
//
//go:noescape
func pad(keys *[240]byte, dst []byte, source int, word uint64, cycles uint64) (missing uint64)

// xorNoise XORs into out the cycle counter and up to two words of the random instruction. missing is the
// number of words that the instruction did not give.
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

// takeAndReadCounter moves len(dst) bytes from src to dst and leaves zeros in src, then does what readCounter does.
//
//go:noescape
func takeAndReadCounter(dst []byte, src *byte, counter uint64) (count uint64, cpu uint64)

// readCounter reads the cycle counter and the number of its CPU: by RDTSCP if counter is 1, by RDPID and RDTSC
// if it is 2. The number is in the upper half of cpu, and its complement in the lower half. If the thread
// moved to another CPU meanwhile, the halves come from different CPUs.
//
//go:noescape
func readCounter(counter uint64) (count uint64, cpu uint64)
