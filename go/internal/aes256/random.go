//go:build (amd64 || (linux && arm64)) && !purego

package aes256

import "sync/atomic"

// HasRandom reports whether this CPU has a random instruction.
func HasRandom() bool { return numberSource == sourceCyclesAndRandom }

// randomPause is the pause of this process's CPU's random instruction.
var randomPause pause

// mayAsk reports whether the random instruction may be asked for words. If not, it counts them as not asked
// for.
//
//go:nosplit
func mayAsk(words uint64) bool { return HasRandom() && !randomPause.skips(uint32(words)) }

// pauseLen is the length of a pause, in words. On some cloud machines RNDR gave no word for hours (aws-lc issue
// 3453), and each request would wait for ten attempts.
const pauseLen = 1024

// pause holds the number of words for which an instruction is not asked, because it gave none. The zero value is
// no pause.
type pause struct{ left atomic.Uint32 }

// begin begins a pause.
//
//go:nosplit
func (p *pause) begin() { p.left.Store(pauseLen) }

// skips reports whether there is a pause, and takes words off it. If two goroutines do so at once, the pause may
// become longer.
//
//go:nosplit
func (p *pause) skips(words uint32) bool {
	left := p.left.Load()
	if left == 0 {
		return false
	}
	p.left.Store(left - min(left, words))
	return true
}
