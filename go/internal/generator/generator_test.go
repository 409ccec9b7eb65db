//go:build linux && (amd64 || arm64) && !purego

package generator

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/squall-rng/squall/go/internal/aes256"
	"github.com/squall-rng/squall/go/internal/guard"
)

// needsState skips where this process can keep none.
func needsState(t *testing.T) {
	t.Helper()
	if !isReady() {
		t.Skip("no AES instructions, or no memory that a fork wipes")
	}
	guard.ThisPolicy().WaitUntilSettled() // which ends a seed
}

// Every byte of every length is written, and none behind it.
func TestEveryByteIsWritten(t *testing.T) {
	for length := range 600 {
		checkWritten(t, length, length%64)
	}
	for _, length := range []int{1000, 4095, 4096, 4097, 65535, 65536, 65537, 200_000} {
		checkWritten(t, length, 0)
	}
}

func FuzzLengths(f *testing.F) {
	for _, length := range []uint{0, 17, 257, 3136, 65537, 1 << 20} {
		f.Add(length, uint(1))
	}
	f.Fuzz(func(t *testing.T, length, offset uint) { checkWritten(t, int(length%(1<<20+1)), int(offset%64)) })
}

// checkWritten fails unless Fill writes every byte of a length, and none beside them.
func checkWritten(t *testing.T, length, offset int) {
	t.Helper()
	const guardByte, guards = 0xa5, 64
	memory := bytes.Repeat([]byte{guardByte}, offset+length+2*guards)
	out := memory[offset+guards:][:length]
	written := make([]byte, length)
	for range 12 { // a byte is zero by chance once in 256
		clear(out)
		Fill(out)
		for i, b := range out {
			written[i] |= b
		}
	}
	if at := bytes.IndexByte(written, 0); at >= 0 {
		t.Errorf("length %d: byte %d is never written", length, at)
	}
	around := append(memory[:offset+guards:offset+guards], memory[offset+guards+length:]...)
	if bytes.Count(around, []byte{guardByte}) != len(around) {
		t.Errorf("length %d: something beside it is written", length)
	}
}

// A request leaves the state in its page, and nothing of what it needed itself.
func TestNothingOfARequestIsLeft(t *testing.T) {
	needsState(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	out := make([]byte, 100_000)
	for name, isPadded := range padRules {
		usePads(t, isPadded)
		for what, draw := range map[string]func(){
			"a word":   func() { Word() },
			"buffered": func() { Fill(out[:100]) },
			"refilled": func() { discardBuffer(false); Fill(out[:100]) },
			"seeded":   func() { discardBuffer(true); Fill(out[:100]) },
			"long":     func() { Fill(out) },
			"fresh":    func() { Fresh(out) },
		} {
			draw()
			page := pin()
			left := slices.Concat(page.Once[:], page.Seed[:], page.Keys[:], page.Block[:])
			guard.Unpin()
			if !bytes.Equal(left, make([]byte, len(left))) {
				t.Errorf("%s, %s: %x", name, what, left)
			}
		}
	}
}

// What was served from the buffer is no longer in it, whatever function served it.
func TestServedBytesAreErased(t *testing.T) {
	needsState(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	// unread returns the P's page, where its unread bytes end, and what the length bytes from there hold.
	unread := func(length int) (*guard.Page, uint64, []byte) {
		page := pin()
		defer guard.Unpin()
		left := page.Left + page.LeftOffFastPath
		return page, left, bytes.Clone(page.Buffer[left:min(left+uint64(length), guard.BufferLen)])
	}
	out := make([]byte, maxBuffered)
	for name, isPadded := range padRules {
		usePads(t, isPadded)
		looked := 0
		for attempt := range 600 {
			length := 1 + attempt/3%maxBuffered
			draw := func() { Fill(out[:length]) }
			switch attempt % 3 {
			case 1:
				length, draw = 8, func() { Word() }
			case 2:
				length, draw = 8, func() { SimulationWord() }
			}
			pageBefore, before, _ := unread(length)
			draw()
			page, after, taken := unread(length)
			if page != pageBefore || before-uint64(length) != after {
				continue // it was refilled, or another P's
			}
			looked++
			if !bytes.Equal(taken, make([]byte, length)) {
				t.Fatalf("%s, %d bytes: they are still in the buffer", name, length)
			}
		}
		if looked < 300 {
			t.Errorf("%s: only %d requests came from the buffer", name, looked)
		}
	}
}

// A fresh request is served anew until no epoch ends in it: of the kernel so often and no more, of the VM
// whatever it takes.
func TestFreshIsServedUnderOneEpoch(t *testing.T) {
	at := func(epoch *guard.Epoch, call, most int) { epoch.VM = uint64(min(call, most)) }
	cases := []struct {
		name   string
		change func(epoch *guard.Epoch, call int)
		calls  int
	}{
		{"nothing changes", func(*guard.Epoch, int) {}, 1},
		{"one reseed", func(epoch *guard.Epoch, call int) { epoch.Kernel = uint64(min(call, 1)) }, 2},
		{"reseeds without pause", func(epoch *guard.Epoch, call int) { epoch.Kernel++ }, attempts},
		{"one clone", func(epoch *guard.Epoch, call int) { at(epoch, call, 1) }, 2},
		{"many clones", func(epoch *guard.Epoch, call int) { at(epoch, call, 20) }, 21},
	}
	for _, c := range cases {
		var epoch guard.Epoch
		calls := 0
		serveInOneEpoch(func() guard.Epoch { return epoch }, func() bool {
			calls++
			c.change(&epoch, calls)
			return true
		})
		if calls != c.calls {
			t.Errorf("%s: served %d times, and not %d", c.name, calls, c.calls)
		}
	}
	calls := 0
	serveInOneEpoch(func() guard.Epoch { return guard.Epoch{} }, func() bool {
		calls++
		return calls == 30
	})
	if calls != 30 {
		t.Errorf("a page that is emptied 29 times: served %d times", calls)
	}
}

// The CPU's additional input reaches all of a seed, and leaves what is there: two counts and, where there is
// the instruction, four of its words.
func TestAdditionalInput(t *testing.T) {
	needsState(t)
	var one, other, input [guard.StateLen]byte
	addNoiseToSeed(&one)
	waitForCounter()
	addNoiseToSeed(&other)
	waitForCounter()
	noiseInput(&input, 2)
	// After a failure the instruction gives no word for a while.
	var noise [3]uint64
	aes256.XORNoise(&noise, 2)
	givesWords := noise[1] != 0 && noise[2] != 0
	for at := 0; at < len(one); at += 8 {
		isCount := at%noiseLen == 0
		if (isCount || givesWords) && bytes.Equal(one[at:at+8], other[at:at+8]) {
			t.Errorf("byte %d: twice the same", at)
		}
	}
	if !bytes.Equal(input[noiseLen:], make([]byte, noiseLen)) || bytes.Equal(input[:8], other[:8]) {
		t.Errorf("additional input of a request: %x", input)
	}
	if givesWords && bytes.Equal(input[8:noiseLen], make([]byte, noiseLen-8)) {
		t.Error("it has no word of the random instruction")
	}
	if aes256.HasRandom() && !givesWords {
		t.Skip("the random instruction gave no word")
	}
}

// waitForCounter waits until the counter has advanced, which may take some dozens of nanoseconds on arm64.
func waitForCounter() {
	for first := cycles(); cycles() == first; {
	}
}

func cycles() uint64 {
	var count [3]uint64
	aes256.XORNoise(&count, 0)
	return count[0]
}

// discardBuffer makes the next request refill its page's buffer, and reseed its generator if seed is set.
func discardBuffer(seed bool) {
	page := pin()
	page.Left, page.LeftOffFastPath = 0, 0
	if seed {
		page.BeginSeeding(0)
	}
	guard.Unpin()
}

// The unread bytes of a buffer whose seed ended are counted.
func TestDiscardedBytesAreCounted(t *testing.T) {
	needsState(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for {
		discardBuffer(false)
		Word()
		page := pin()
		left := page.Left + page.LeftOffFastPath
		page.BeginSeeding(0)
		guard.Unpin()
		before, reseeds := Discarded.Load(), Reseeds.Load()
		Word()
		if Reseeds.Load() > reseeds+1 {
			continue // the kernel reseeded too
		}
		// But for the word that was read before the seed was found to have ended.
		if discarded := Discarded.Load() - before; discarded == 0 || discarded > left || discarded+8 < left {
			t.Errorf("%d bytes of %d were counted", discarded, left)
		}
		return
	}
}

// One clock only goes forward, and one is the wall's.
func TestClocks(t *testing.T) {
	now := clocks()
	later := clocks()
	off := time.Duration(time.Now().UnixNano() - now[1]).Abs()
	if later[0] < now[0] || now[0] <= 0 || off > time.Hour {
		t.Errorf("%v, then %v; %v from the wall's", now, later, off)
	}
}

// padRules are the two ways of requests.
var padRules = map[string]bool{"unpadded": false, "padded": true}

// usePads makes requests have pads, or not, from the next one until the end of the test.
func usePads(t testing.TB, isPadded bool) {
	t.Helper()
	theirs := needsPads
	t.Cleanup(func() { needsPads = theirs; discardBuffer(true); Word() })
	needsPads = func(*guard.Policy) bool { return isPadded }
	discardBuffer(true)
	Word()
}

// A request returns the buffer's bytes, or padded ones, and changes nothing around them. Numbers for simulations have no
// pads.
func TestPads(t *testing.T) {
	needsState(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const left = 1000
	// fromBuffer reports whether draw returns length bytes as the buffer has them.
	fromBuffer := func(length int, draw func(out []byte)) bool {
		for {
			Word()
			page := pin()
			for i := range page.Buffer {
				page.Buffer[i] = 7
			}
			if guard.ThisPolicy().TagSuffices() {
				page.Left = left
			} else {
				page.LeftOffFastPath = left
			}
			guard.Unpin()
			out := make([]byte, length)
			draw(out)
			page = pin()
			isRefilled := page.Left+page.LeftOffFastPath != uint64(left-length)
			isIntact := page.Buffer[left-length-1] == 7 && page.Buffer[left] == 7
			guard.Unpin()
			if isRefilled {
				continue // the tick moved on
			}
			if !isIntact {
				t.Errorf("%d bytes: those around them were changed", length)
			}
			return bytes.Equal(out, bytes.Repeat([]byte{7}, length))
		}
	}
	word := func(draw func() uint64) func([]byte) {
		return func(out []byte) { binary.NativeEndian.PutUint64(out, draw()) }
	}
	for name, isPadded := range padRules {
		usePads(t, isPadded)
		for length := 1; length <= maxBuffered; length++ {
			// A short pad may be zeros by chance.
			if isAsItWas := fromBuffer(length, Fill); isAsItWas == isPadded && (length >= 8 || !isPadded) {
				t.Errorf("%s, %d bytes: the buffer's: %t", name, length, isAsItWas)
			}
		}
		if fromBuffer(8, word(Word)) == isPadded || !fromBuffer(8, word(SimulationWord)) {
			t.Errorf("%s: words", name)
		}
	}
}

// Each seeding gives request pads another key.
func TestEachSeedingGivesPadsANewKey(t *testing.T) {
	needsState(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	var none [guard.KeysLen]byte
	aes256.Expand(new([aes256.KeySize]byte), &none)
	seen := map[[guard.KeysLen]byte]bool{{}: true, none: true}
	for range 3 {
		discardBuffer(true)
		Word()
		page := pin()
		keys := page.PadKeys
		guard.Unpin()
		if seen[keys] {
			t.Errorf("the round keys of pads are those of before, or of zeros: %x", keys)
		}
		seen[keys] = true
	}
}

// No two of many goroutines are given the same, while the number of Ps changes.
func TestGoroutinesDoNotShare(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	err := drawInGoroutines(64, 20_000, func(goroutine, draw int) {
		switch {
		case draw%64 != 0:
		case goroutine == 0:
			runtime.GOMAXPROCS(1 + draw/64%16)
		default:
			runtime.Gosched()
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// drawInGoroutines lets goroutines draw, and calls between after each draw. It fails if two draws are the same.
func drawInGoroutines(goroutines, draws int, between func(goroutine, draw int)) error {
	drawn := make([][16]byte, goroutines*draws) // so long that none is drawn twice by chance
	var group sync.WaitGroup
	for i := range goroutines {
		group.Go(func() {
			for j := range draws {
				Fill(drawn[i*draws+j][:])
				between(i, j)
			}
		})
	}
	group.Wait()
	return make(outputs[[16]byte], len(drawn)).add(drawn...)
}

// outputs are those that were given out.
type outputs[T comparable] map[T]bool

// add adds outputs, and fails if one was given out before.
func (o outputs[T]) add(given ...T) error {
	for _, out := range given {
		if o[out] {
			return fmt.Errorf("%x was given out twice", any(out))
		}
		o[out] = true
	}
	return nil
}

// Memory for more Ps that the kernel refuses is asked for every 1024 requests. The kernel serves them, and pages do
// again once there is memory.
func TestRefusedMemoryIsAskedForRarely(t *testing.T) {
	needsState(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	Word() // the first seeding decides how the generation is watched
	before := allShards.Load()
	defer func() {
		mapPages = guard.MapPages
		allShards.Store(before)
		refusals.Store(0)
	}()
	allShards.Store(&shards{})
	asked := 0
	mapPages = func(int) (*guard.Page, guard.MemoryKind) {
		asked++
		return nil, guard.NoMemory
	}
	const rounds = 3
	seen := outputs[uint64]{}
	for range rounds * 1024 {
		if err := seen.add(Word()); err != nil {
			t.Fatal(err)
		}
	}
	// More often only if the kernel reseeds during requests, which are then repeated.
	if asked == 0 || asked > 2*rounds {
		t.Errorf("it was asked for %d times in %d requests", asked, rounds*1024)
	}
	mapPages = guard.MapPages
	for range 1024 {
		Word()
	}
	if allShards.Load().count == 0 {
		t.Error("there is memory again, and it is not used")
	}
}

// A request allocates nothing.
func TestNothingIsAllocated(t *testing.T) {
	needsState(t)
	var small [32]byte
	large := make([]byte, 300_000)
	cases := map[string]func(){
		"32 bytes":      func() { Fill(small[:]) },
		"300,000 bytes": func() { Fill(large) },
		"fresh":         func() { Fresh(small[:]) },
		"a word":        func() { Word() },
		"simulation":    func() { SimulationWord() },
		"on the stack":  func() { var b [64]byte; Fill(b[:]) },
	}
	for name, call := range cases {
		if count := testing.AllocsPerRun(100, call); count != 0 {
			t.Errorf("%s: %v allocations", name, count)
		}
	}
}
