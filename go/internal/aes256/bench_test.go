package aes256

import (
	"crypto/aes"
	"crypto/cipher"
	"strconv"
	"testing"
)

var benchSizes = []int{16, 64, 256, 4096, 65536, 1 << 20}

func BenchmarkKeystream(b *testing.B) {
	for _, engine := range Available() {
		for _, size := range benchSizes {
			b.Run(engine.String()+"/"+strconv.Itoa(size), func(b *testing.B) {
				keys, counter, dst := roundKeys(b, testKey), new([BlockSize]byte), make([]byte, size)
				b.SetBytes(int64(size))
				for b.Loop() {
					engine.Keystream(keys, counter, dst)
				}
			})
		}
	}
}

func BenchmarkNewCTR(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			block, err := aes.NewCipher(testKey[:])
			if err != nil {
				b.Fatal(err)
			}
			stream := cipher.NewCTR(block, make([]byte, BlockSize))
			dst := make([]byte, size)
			b.SetBytes(int64(size))
			for b.Loop() {
				stream.XORKeyStream(dst, dst)
			}
		})
	}
}

func BenchmarkExpand(b *testing.B) {
	requireEngine(b)
	keys := new([KeysSize]byte)
	for b.Loop() {
		Expand(testKey, keys)
	}
}

func BenchmarkPad(b *testing.B) {
	for _, size := range []int{16, 32, 64, 256} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			keys, dst := roundKeys(b, testKey), make([]byte, size)
			b.SetBytes(int64(size))
			for b.Loop() {
				Pad(keys, dst, 0)
			}
		})
	}
}

func BenchmarkXORNoise(b *testing.B) {
	requireEngine(b)
	out := new([3]uint64)
	for words := range uint64(3) {
		b.Run(strconv.FormatUint(words, 10), func(b *testing.B) {
			for b.Loop() {
				XORNoise(out, words)
			}
		})
	}
}

func BenchmarkTake(b *testing.B) {
	requireEngine(b)
	for _, size := range []int{16, 32, 256} {
		src, dst := make([]byte, size), make([]byte, size)
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				Take(dst, &src[0])
			}
		})
		b.Run("copy and clear/"+strconv.Itoa(size), func(b *testing.B) {
			b.SetBytes(int64(size))
			for b.Loop() {
				copy(dst, src)
				clear(src)
			}
		})
	}
}
