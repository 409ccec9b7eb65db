//go:build linux && (amd64 || arm64) && !purego

// Package generator serves requests from state that belongs to the P that the goroutine runs on.
//
// Each P has a page: a generator's state and a buffer of keystream. Small requests take bytes from the
// buffer, where they are erased; larger ones are generated in the caller's buffer. Either way the bytes
// leave only if the page is current after they were read. If the page was dropped, copied by a fork, older
// than a reseed of the kernel or restored from a snapshot, the bytes are discarded and drawn again. So they are if the
// kernel's tick has moved on: the state takes additional input then, because the process may have been restored.
// Where a copy may run before anything shows it, each request gets a request pad.
//
// A request is pinned to its P while it uses the page: for at most 64 KiB at a time, some microseconds.
// There are no locks, and nobody waits.
package generator

import (
	"unsafe"

	"github.com/squall-rng/squall/go/internal/aes256"
	"github.com/squall-rng/squall/go/internal/failpoint"
	"github.com/squall-rng/squall/go/internal/guard"
)

// maxBuffered is the longest request served from the buffer, in bytes. For longer requests, generating in
// place costs less than copying and erasing.
const maxBuffered = 256

// Fill fills out with random bytes.
func Fill(out []byte) {
	if length := uint64(len(out)); length <= maxBuffered {
		number := guard.Pin()
		if all := allShards.Load(); uint(number) < uint(all.count) {
			page := all.of(number)
			// One comparison for length <= Left <= BufferLen: an underflow is too large.
			if at := page.Left - length; at <= guard.BufferLen-length {
				wasFresh := failpoint.CheckBeforeRead.IsActive() && page.IsFresh(guard.CurrentTag())
				switch {
				case length-8 <= 8:
					takeWords[uint64](out, bufferAt(page, at))
				case length-4 < 4:
					takeWords[uint32](out, bufferAt(page, at))
				default:
					take(out, bufferAt(page, at))
				}
				if page.NeedsPads {
					pad(page, out)
				}
				isFresh := wasFresh || page.IsFresh(guard.CurrentTag())
				page.Left = at
				guard.Unpin()
				if isFresh {
					return
				}
				serve(strict, out)
				return
			}
		}
		guard.Unpin()
	}
	serve(strict, out)
}

// Word returns a random word.
func Word() uint64 {
	const length = uint64(unsafe.Sizeof(uint64(0)))
	number := guard.Pin()
	if all := allShards.Load(); uint(number) < uint(all.count) {
		page := all.of(number)
		if at := page.Left - length; at <= guard.BufferLen-length {
			wasFresh := failpoint.CheckBeforeRead.IsActive() && page.IsFresh(guard.CurrentTag())
			word := takeWord(page, at)
			if page.NeedsPads {
				word = padWord(page, word)
			}
			isFresh := wasFresh || page.IsFresh(guard.CurrentTag())
			page.Left = at
			guard.Unpin()
			if isFresh {
				return word
			}
			return slowWord(strict)
		}
	}
	guard.Unpin()
	return slowWord(strict)
}

// SimulationWord returns a random word. A clone of this machine may repeat it, unless there is an immediate
// signal of clones.
func SimulationWord() uint64 {
	const length = uint64(unsafe.Sizeof(uint64(0)))
	number := guard.Pin()
	if all := allShards.Load(); uint(number) < uint(all.count) {
		page := all.of(number)
		if at := page.Left - length; at <= guard.BufferLen-length {
			wasFresh := failpoint.CheckBeforeRead.IsActive() && page.IsFresh(guard.CurrentTag())
			word := takeWord(page, at)
			isFresh := wasFresh || page.IsFresh(guard.CurrentTag())
			page.Left = at
			guard.Unpin()
			if isFresh {
				return word
			}
			return slowWord(simulation)
		}
	}
	guard.Unpin()
	return slowWord(simulation)
}

// slowWord returns a word if the fast path cannot.
func slowWord(kind requestKind) (word uint64) {
	serve(kind, unsafe.Slice((*byte)(unsafe.Pointer(&word)), unsafe.Sizeof(word)))
	return word
}

// padWord returns a word from the buffer with a pad.
//
//go:nosplit
func padWord(page *guard.Page, word uint64) uint64 {
	pad(page, unsafe.Slice((*byte)(unsafe.Pointer(&word)), unsafe.Sizeof(word)))
	return word
}

// pad adds a pad to out, with a number that no other pad of the page's keys has.
//
//go:nosplit
func pad(page *guard.Page, out []byte) {
	page.PadNumber++
	number := page.PadNumber
	if failpoint.ZeroPadNumbers.IsActive() {
		number = 0
	}
	aes256.Pad(&page.PadKeys, out, number)
}

// takeWord moves a word out of the page's buffer and leaves zeros there.
func takeWord(page *guard.Page, at uint64) uint64 {
	// SAFETY: the caller has checked that a word at this offset is within the buffer.
	place := (*uint64)(unsafe.Pointer(bufferAt(page, at)))
	word := *place
	*place = 0
	return word
}

// take moves len(out) bytes to out, at most 256, and leaves zeros. It moves the shortest requests itself,
// because a call of assembly would take longer. The goroutine is pinned, so this must not be a preemption
// point: a preemption request there would be lost.
//
//go:nosplit
func take(out []byte, from *byte) {
	switch length := len(out); {
	case length > 16:
		aes256.Take(out, from)
	case length >= 8:
		takeWords[uint64](out, from)
	case length >= 4:
		takeWords[uint32](out, from)
	default:
		for i := range out {
			place := (*byte)(unsafe.Add(unsafe.Pointer(from), i))
			out[i], *place = *place, 0
		}
	}
}

// takeWords moves one word or two, which overlap: the second is read before the first is erased.
//
//go:nosplit
func takeWords[W uint32 | uint64](out []byte, from *byte) {
	// SAFETY: out, and the bytes at from, are at least one word and at most two words long.
	last := uintptr(len(out)) - unsafe.Sizeof(W(0))
	target := unsafe.Pointer(unsafe.SliceData(out))
	first, second := (*W)(unsafe.Pointer(from)), (*W)(unsafe.Add(unsafe.Pointer(from), last))
	head, tail := *first, *second
	*first, *second = 0, 0
	*(*W)(target) = head
	*(*W)(unsafe.Add(target, last)) = tail
}

// bufferAt returns the address of a byte of the page's buffer.
func bufferAt(page *guard.Page, at uint64) *byte {
	// SAFETY: the caller has checked that at is within the buffer.
	return (*byte)(unsafe.Add(unsafe.Pointer(&page.Buffer), at))
}
