//go:build linux && (amd64 || arm64) && !purego

// Package generator serves requests from state that belongs to the P that the goroutine runs on.
//
// Each P has a page: a generator's state and a buffer of keystream. Small requests come out of the
// buffer and are erased there; larger ones are generated where the caller wants them. Either way the
// bytes leave only after the page's mark was found to be current after they were read: had the page
// been dropped, forked away, outlived a reseed of the kernel or been restored from a snapshot, they
// are thrown away and drawn anew. Where a clone of the machine may run unnoticed, they also leave as they
// are only within a burst, and with a request pad otherwise (internal/guard/burst.go).
//
// A request is pinned to its P while it uses the page: 64 KiB at most at a time, some microseconds.
// Nothing is locked, and nobody waits.
package generator

import (
	"unsafe"

	"github.com/squall-rng/squall/go/internal/aes256"
	"github.com/squall-rng/squall/go/internal/failpoint"
	"github.com/squall-rng/squall/go/internal/guard"
)

// small is the longest request served from the buffer, in bytes. Beyond it, generating in place costs
// less than copying and erasing.
const small = 256

// Fill fills out with random bytes.
func Fill(out []byte) {
	if length := uint64(len(out)); length <= small {
		number := guard.Pin()
		if pages := all.Load().pages; uint(number) < uint(len(pages)) {
			page := pages[number]
			// One comparison for length <= Left <= BufferLen: an underflow is too large.
			if at := page.Left - length; at <= guard.BufferLen-length {
				wasFresh := failpoint.Recheck.Off() && page.IsFresh(guard.Tag())
				left := give(page, out, at)
				isFresh := wasFresh || page.IsFresh(guard.Tag())
				page.Left = left
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

// Word is a random word.
func Word() uint64 {
	const length = uint64(unsafe.Sizeof(uint64(0)))
	number := guard.Pin()
	if pages := all.Load().pages; uint(number) < uint(len(pages)) {
		page := pages[number]
		if at := page.Left - length; at <= guard.BufferLen-length {
			wasFresh := failpoint.Recheck.Off() && page.IsFresh(guard.Tag())
			word := takeWord(page, at)
			if page.Rule != guard.AsTheyAre {
				word, at = giveWord(page, word, at)
			}
			isFresh := wasFresh || page.IsFresh(guard.Tag())
			page.Left = at
			guard.Unpin()
			if isFresh {
				return word
			}
			return served(strict)
		}
	}
	guard.Unpin()
	return served(strict)
}

// SimulationWord is a random word that a clone of this machine may repeat, if it is not noticed in time.
func SimulationWord() uint64 {
	const length = uint64(unsafe.Sizeof(uint64(0)))
	number := guard.Pin()
	if pages := all.Load().pages; uint(number) < uint(len(pages)) {
		page := pages[number]
		if at := page.Left - length; at <= guard.BufferLen-length {
			wasFresh := failpoint.Recheck.Off() && page.IsFresh(guard.Tag())
			word := takeWord(page, at)
			isFresh := wasFresh || page.IsFresh(guard.Tag())
			page.Left = at
			guard.Unpin()
			if isFresh {
				return word
			}
			return served(simulation)
		}
	}
	guard.Unpin()
	return served(simulation)
}

// served is a word that the fast path leaves to serve.
func served(kind requestKind) (word uint64) {
	serve(kind, unsafe.Slice((*byte)(unsafe.Pointer(&word)), unsafe.Sizeof(word)))
	return word
}

// give moves what is at a place of the buffer to out, as the page's rule has it, and tells how many bytes
// are left unread. The cycle counter is read behind the bytes. Pinned, neither this nor what it calls must
// be where the scheduler's wish to preempt is found, which would be forgotten.
//
//go:nosplit
func give(page *guard.Page, out []byte, at uint64) (left uint64) {
	from := bufferAt(page, at)
	switch page.Rule {
	case guard.FollowGaps:
		count, cpu := aes256.TakeAndLook(out, from, aes256.Counter(page.Counter))
		if page.GoesOn(guard.Reading{Count: count, CPU: cpu}) {
			return at
		}
		return pause(page, out, at, guard.Reading{Count: count, CPU: cpu})
	case guard.PadAll:
		take(out, from)
		aes256.Pad(&page.PadKeys, out)
	default:
		take(out, from)
	}
	return at
}

// giveWord makes of a word from the buffer what the page's rule has become of it, and tells how many of the
// bytes below it are left.
//
//go:nosplit
func giveWord(page *guard.Page, word, at uint64) (given, left uint64) {
	out := unsafe.Slice((*byte)(unsafe.Pointer(&word)), unsafe.Sizeof(word))
	if page.Rule == guard.FollowGaps {
		now := reading(page)
		if page.GoesOn(now) {
			return word, at
		}
		left = pause(page, out, at, now)
		return word, left
	}
	aes256.Pad(&page.PadKeys, out)
	return word, at
}

// pause pads a request that is not of a burst, and tells how many of the bytes that are left are worth to be
// kept.
//
//go:nosplit
func pause(page *guard.Page, out []byte, left uint64, now guard.Reading) uint64 {
	aes256.Pad(&page.PadKeys, out)
	if !page.Pause(now) {
		return left
	}
	if page.IsAnchored() || page.IsBackedOff() {
		page.Refill = 0
	}
	Discarded.Add(left)
	return 0
}

// reading reads the cycle counter.
//
//go:nosplit
func reading(page *guard.Page) guard.Reading {
	count, cpu := aes256.Look(aes256.Counter(page.Counter))
	return guard.Reading{Count: count, CPU: cpu}
}

// takeWord moves a word out of the page's buffer, and leaves zeros.
func takeWord(page *guard.Page, at uint64) uint64 {
	// SAFETY: who calls has found that a word is within the buffer there.
	place := (*uint64)(unsafe.Pointer(bufferAt(page, at)))
	word := *place
	*place = 0
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
