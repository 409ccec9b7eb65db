package main

import (
	crypto "crypto/rand"
	"encoding/binary"
	"errors"
	math "math/rand/v2"
)

var errUnchanged = errors.New("a buffer was left as it was")

// source is a generator. Loops over requests are its own, so that what is timed is the generator
// and no call through an interface.
type source struct {
	fill  func(out []byte)
	fills func(out []byte, calls int)
	u32s  func(calls int)
	u64s  func(calls int)
}

func sourceNamed(name string) (source, error) {
	switch name {
	case "crypto":
		return source{cryptoFill, cryptoFills, cryptoU32s, cryptoU64s}, nil
	case "math":
		return source{mathFill, mathFills, mathU32s, mathU64s}, nil
	}
	return source{}, errors.New("no such source: " + name)
}

// sink keeps numbers from being optimised away.
var sink uint64

// A Go program that needs a number from crypto/rand reads its bytes.

func cryptoFill(out []byte) {
	if _, err := crypto.Read(out); err != nil {
		fail(err)
	}
}

func cryptoFills(out []byte, calls int) {
	for range calls {
		cryptoFill(out)
	}
}

func cryptoU32s(calls int) {
	for range calls {
		var out [4]byte
		cryptoFill(out[:])
		sink += uint64(binary.LittleEndian.Uint32(out[:]))
	}
}

func cryptoU64s(calls int) {
	for range calls {
		var out [8]byte
		cryptoFill(out[:])
		sink += binary.LittleEndian.Uint64(out[:])
	}
}

// math/rand/v2 gives no bytes; these are the numbers of its functions, which draw from the
// runtime's generator: ChaCha8, one for each thread.

func mathFill(out []byte) {
	for len(out) >= 8 {
		binary.LittleEndian.PutUint64(out, math.Uint64())
		out = out[8:]
	}
	if len(out) > 0 {
		var last [8]byte
		binary.LittleEndian.PutUint64(last[:], math.Uint64())
		copy(out, last[:])
	}
}

func mathFills(out []byte, calls int) {
	for range calls {
		mathFill(out)
	}
}

func mathU32s(calls int) {
	for range calls {
		sink += uint64(math.Uint32())
	}
}

func mathU64s(calls int) {
	for range calls {
		sink += math.Uint64()
	}
}
