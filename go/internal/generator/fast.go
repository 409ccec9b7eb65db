//go:build linux && amd64 && !purego

// Package generator serves requests from state that belongs to the P that the goroutine runs on.
//
// Each P has a page: a generator's state and a buffer of keystream. Small requests come out of the
// buffer and are erased there; larger ones are generated where the caller wants them. Either way the
// bytes leave only after the page's mark was found to be current after they were read: had the page
// been dropped, forked away, outlived a reseed of the kernel or been restored from a snapshot, they
// are thrown away and drawn anew.
//
// A request is pinned to its P while it uses the page: 64 KiB at most at a time, some microseconds.
// Nothing is locked, and nobody waits.
package generator

import (
	"sync/atomic"
	"unsafe"

	"github.com/squall-rng/squall/go/internal/aes256"
	"github.com/squall-rng/squall/go/internal/failpoint"
	"github.com/squall-rng/squall/go/internal/guard"
)

// small is the longest request served from the buffer, in bytes. Beyond it, generating in place costs
// less than copying and erasing.
const small = 256

// padded tells that requests for bytes get a request pad when they leave the buffer.
var padded atomic.Bool

// Fill fills out with random bytes.
func Fill(out []byte) {
	if length := uint64(len(out)); length <= small {
		number := guard.Pin()
		if pages := all.Load().pages; uint(number) < uint(len(pages)) {
			page := pages[number]
			// One comparison for length <= Left <= BufferLen: an underflow is too large.
			if at := page.Left - length; at <= guard.BufferLen-length {
				wasFresh := failpoint.Recheck.Off() && page.IsFresh(guard.Tag())
				take(out, bufferAt(page, at))
				if padded.Load() {
					aes256.Pad(&page.PadKeys, out)
				}
				isFresh := wasFresh || page.IsFresh(guard.Tag())
				page.Left = at
				guard.Unpin()
				if isFresh {
					return
				}
				serve(requestBytes, out)
				return
			}
		}
		guard.Unpin()
	}
	serve(requestBytes, out)
}

// Word is a random word.
func Word() uint64 {
	const length = uint64(unsafe.Sizeof(uint64(0)))
	number := guard.Pin()
	if pages := all.Load().pages; uint(number) < uint(len(pages)) {
		page := pages[number]
		if at := page.Left - length; at <= guard.BufferLen-length {
			wasFresh := failpoint.Recheck.Off() && page.IsFresh(guard.Tag())
			place := (*uint64)(unsafe.Pointer(bufferAt(page, at)))
			word := *place
			*place = 0
			isFresh := wasFresh || page.IsFresh(guard.Tag())
			page.Left = at
			guard.Unpin()
			if isFresh {
				return word
			}
			return served()
		}
	}
	guard.Unpin()
	return served()
}

// served is a word that the fast path leaves to serve.
func served() (word uint64) {
	serve(requestNumber, unsafe.Slice((*byte)(unsafe.Pointer(&word)), unsafe.Sizeof(word)))
	return word
}

// take moves len(out) bytes to out, 256 at most, and leaves zeros. The shortest are moved here: a call of
// assembly would take longer. Pinned, it must not be where the scheduler's wish to preempt is found, which
// would be forgotten.
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
	// SAFETY: out and what is at from are as long as a word, and no longer than two.
	last := uintptr(len(out)) - unsafe.Sizeof(W(0))
	target := unsafe.Pointer(unsafe.SliceData(out))
	first, second := (*W)(unsafe.Pointer(from)), (*W)(unsafe.Add(unsafe.Pointer(from), last))
	head, tail := *first, *second
	*first, *second = 0, 0
	*(*W)(target) = head
	*(*W)(unsafe.Add(target, last)) = tail
}

// bufferAt is a byte of the page's buffer.
func bufferAt(page *guard.Page, at uint64) *byte {
	// SAFETY: who calls has found at to be within the buffer.
	return (*byte)(unsafe.Add(unsafe.Pointer(&page.Buffer), at))
}
