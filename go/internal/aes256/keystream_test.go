//go:build linux && (amd64 || arm64) && !purego

package aes256

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// lengths has every short one and some that take several batches.
func lengths() []int {
	var all []int
	for length := range 1101 {
		all = append(all, length)
	}
	for _, around := range []int{4096, 65536} {
		for _, k := range []int{-17, -1, 0, 1, 15, 16, 17, 63, 64, 65, 130, 511, 512, 513} {
			all = append(all, around+k)
		}
	}
	return all
}

// checkKeystream compares a request with crypto/aes, and looks at what is around dst and at the
// counter.
func checkKeystream(t *testing.T, engine Engine, key *[KeySize]byte, high, low uint64, offset, length int) {
	t.Helper()
	keys, counter := roundKeys(t, key), blockOf(high, low)
	kept := *keys
	dst := newGuarded(offset, length)
	engine.Keystream(keys, &counter, dst.bytes)

	expected := make([]byte, length)
	firstHigh, firstLow := add128(high, low, 1)
	xorReference(t, key, firstHigh, firstLow, expected)
	if !bytes.Equal(dst.bytes, expected) {
		t.Fatalf("%v: wrong keystream: counter %x:%x, offset %d, length %d", engine, high, low, offset, length)
	}
	if !dst.isIntact() {
		t.Fatalf("%v wrote beyond dst: counter %x:%x, offset %d, length %d", engine, high, low, offset, length)
	}
	if counter != blockOf(add128(high, low, uint64(length+BlockSize-1)/BlockSize)) {
		t.Fatalf("%v: counter %x:%x and length %d lead to counter %x", engine, high, low, length, counter)
	}
	if *keys != kept {
		t.Fatalf("%v changed the round keys", engine)
	}
}

// Every length, and every alignment with many of them.
func TestKeystreamAtEveryLength(t *testing.T) {
	requireEngine(t)
	for _, engine := range Available() {
		for _, length := range lengths() {
			checkKeystream(t, engine, testKey, 0x0123456789abcdef, 0xfedcba9876543210, length/16%64, length)
		}
	}
}

func TestKeystreamWithACarryInTheCounter(t *testing.T) {
	requireEngine(t)
	edges := []struct{ high, low uint64 }{
		{0, math.MaxUint32},
		{5, math.MaxUint64},
		{math.MaxUint32, math.MaxUint64},
		{math.MaxUint64, math.MaxUint64},
	}
	for _, engine := range Available() {
		for _, edge := range edges {
			for _, predecessor := range []uint64{0, 1, 2, 3, 4, 7, 8, 31, 32, 33, 63, 64, 65, 70} {
				for _, length := range []int{0, 1, 16, 17, 32, 48, 127, 128, 129, 500, 512, 513, 1024, 1040, 4099} {
					checkKeystream(t, engine, testKey, edge.high, edge.low-predecessor, 3, length)
				}
			}
		}
	}
}

func TestPublishedKeystreams(t *testing.T) {
	requireEngine(t)
	file, err := os.ReadFile("../../../drbg/vectors/aes_ctr.json")
	if err != nil {
		t.Fatal(err)
	}
	var answers []struct{ Source, Cipher, Key, Counter, Keystream string }
	if err := json.Unmarshal(file, &answers); err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, answer := range answers {
		if answer.Cipher != "AES-256" {
			continue
		}
		checked++
		keys, expected := roundKeys(t, (*[KeySize]byte)(unhex(answer.Key))), unhex(answer.Keystream)
		for _, engine := range Available() {
			counter, dst := predecessor([BlockSize]byte(unhex(answer.Counter))), make([]byte, len(expected))
			engine.Keystream(keys, &counter, dst)
			if !bytes.Equal(dst, expected) {
				t.Errorf("%v: wrong answer to %s", engine, answer.Source)
			}
		}
	}
	if checked < 5 {
		t.Errorf("only %d answers for AES-256", checked)
	}
}

// predecessor returns the number before block's.
func predecessor(block [BlockSize]byte) [BlockSize]byte {
	for i := BlockSize - 1; i >= 0; i-- {
		block[i]--
		if block[i] != 0xff {
			break
		}
	}
	return block
}

func TestKeystreamNeedsAnEngine(t *testing.T) {
	keys := roundKeys(t, testKey)
	defer func() {
		if recover() == nil {
			t.Error("None made keystream")
		}
	}()
	None.Keystream(keys, new([BlockSize]byte), make([]byte, 1))
}

func FuzzKeystream(f *testing.F) {
	requireEngine(f)
	f.Add(bytes.Repeat([]byte{7}, KeySize), uint64(1), uint64(math.MaxUint64-3), uint8(5), uint16(200))
	f.Fuzz(func(t *testing.T, seed []byte, high, low uint64, offset uint8, length uint16) {
		key := new([KeySize]byte)
		copy(key[:], seed)
		for _, engine := range Available() {
			checkKeystream(t, engine, key, high, low, int(offset%64), int(length))
		}
	})
}

// Each engine at lengths among which are those of narrowUpTo256 and narrowUpTo512.
func BenchmarkKeystream(b *testing.B) {
	requireEngine(b)
	keys, counter := roundKeys(b, testKey), new([BlockSize]byte)
	for _, engine := range Available() {
		for _, length := range []int{16, 32, 48, 64, 128, 256, 1024, 4096, 65536, 1 << 20} {
			dst := make([]byte, length)
			b.Run(fmt.Sprintf("%v/%d", engine, length), func(b *testing.B) {
				b.SetBytes(int64(length))
				for b.Loop() {
					engine.Keystream(keys, counter, dst)
				}
			})
		}
	}
}

func TestNamesOfEngines(t *testing.T) {
	if None.String() != "none" || AESNI.String() != "aesni" || VAES256.String() != "vaes256" || VAES512.String() != "vaes512" ||
		ARMAES.String() != "arm-aes" {
		t.Error("an engine has a wrong name")
	}
}

// The detection is checked against what scripts/required.sh asks the kernel.
func TestRequiredEngines(t *testing.T) {
	required, found := os.LookupEnv("SQUALL_REQUIRE_ENGINES")
	if !found {
		t.Skip("SQUALL_REQUIRE_ENGINES does not say which engines this CPU has")
	}
	names := strings.Split(required, ",")
	for _, engine := range []Engine{AESNI, VAES256, VAES512, ARMAES} {
		if slices.Contains(names, engine.String()) && !slices.Contains(Available(), engine) {
			t.Errorf("%v was not found, but the kernel has it", engine)
		}
	}
}
