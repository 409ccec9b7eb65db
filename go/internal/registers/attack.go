//go:build linux && (amd64 || arm64) && !purego

package registers

import (
	"crypto/aes"
	"encoding/binary"
	"math/bits"
)

// Key is the attack of somebody who sees the registers and some output. It takes every two lanes as two
// consecutive round keys of AES-256, computes their key, and checks whether the key decrypts two consecutive
// blocks of keystream to consecutive numbers.
func (f *File) Key(keystream []byte) (key [32]byte, found bool) {
	all := f.lanes()
	for _, first := range all {
		for _, second := range all {
			for round := range lastRound {
				key := keyOf(first, second, round)
				if decryptsToCounter(key, keystream) {
					return key, true
				}
			}
		}
	}
	return key, false
}

// lastRound is the number of the last round key (FIPS 197 table 3).
const lastRound = 14

// decryptsToCounter reports whether a key decrypts the first two blocks of keystream to consecutive numbers.
func decryptsToCounter(key [32]byte, keystream []byte) bool {
	cipher, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err)
	}
	var numbers [2]Lane
	for i := range numbers {
		cipher.Decrypt(numbers[i][:], keystream[i*LaneLen:])
	}
	return binary.BigEndian.Uint64(numbers[1][8:]) == binary.BigEndian.Uint64(numbers[0][8:])+1
}

// keyOf returns the key with these round keys for this round and the next: it inverts the key expansion of
// FIPS 197 section 5.2.
func keyOf(first, second Lane, round int) (key [32]byte) {
	const keyWords = 8
	var words [keyWords]uint32
	for i := range words {
		words[i] = binary.BigEndian.Uint32(append(first[:], second[:]...)[4*i:])
	}
	// The last of the words is number end-1; each turn puts the one before the first in its place.
	for end := 4*round + keyWords; end > keyWords; end-- {
		last, before := words[keyWords-1], words[keyWords-2]
		copy(words[1:], words[:keyWords-1])
		words[0] = last ^ mixed(before, end-1)
	}
	for i, word := range words {
		binary.BigEndian.PutUint32(key[4*i:], word)
	}
	return key
}

// mixed transforms a word as the key expansion does before the XOR into word number i.
func mixed(word uint32, i int) uint32 {
	switch i % 8 {
	case 0:
		return substituted(bits.RotateLeft32(word, 8)) ^ 1<<(24+i/8-1)
	case 4:
		return substituted(word)
	default:
		return word
	}
}

func substituted(word uint32) (out uint32) {
	for shift := 0; shift < 32; shift += 8 {
		out |= uint32(sBox[byte(word>>shift)]) << shift
	}
	return out
}

// box is SubBytes (FIPS 197 section 5.1.1), by powers of 3, which are all bytes but zero.
var sBox = func() (sBox [256]byte) {
	sBox[0] = 0x63
	power, inverse := byte(1), byte(1)
	for range 255 {
		sBox[power] = 0x63 ^ inverse ^ bits.RotateLeft8(inverse, 1) ^ bits.RotateLeft8(inverse, 2) ^
			bits.RotateLeft8(inverse, 3) ^ bits.RotateLeft8(inverse, 4)
		power ^= timesTwo(power)
		inverse = overThree(inverse)
	}
	return sBox
}()

// doubled is a byte times 2 in AES's field (FIPS 197 section 4.2).
func timesTwo(b byte) byte { return b<<1 ^ b>>7*0x1b }

// overThree is a byte divided by 3.
func overThree(b byte) byte {
	for _, shift := range []int{1, 2, 4} {
		b ^= b << shift
	}
	return b ^ b>>7*0x09
}
