//go:build linux && (amd64 || arm64) && !purego

package generator

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"runtime"
	"runtime/debug"
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
	for name, rule := range rules() {
		useRule(t, rule)
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
	for name, rule := range rules() {
		useRule(t, rule)
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
	hasWord := noiseInput(&input, 2)
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
	if (givesWords && !hasWord) || (hasWord && !aes256.HasRandom()) {
		t.Errorf("the random instruction gave a word: %v", hasWord)
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

// rules returns all rules that this CPU supports.
func rules() map[string]guard.Rule {
	all := map[string]guard.Rule{"unpadded": guard.Unpadded, "pad always": guard.PadAlways}
	if guard.BestCounter() != aes256.NoCounter {
		all["pad after pause"] = guard.PadAfterPause
	}
	return all
}

// useRule makes requests follow the rule, from the next one until the end of the test.
func useRule(t testing.TB, rule guard.Rule) {
	t.Helper()
	theirs := ruleFor
	t.Cleanup(func() { ruleFor = theirs })
	counter := guard.BestCounter()
	ruleFor = func(*guard.Policy, uint64) (guard.Rule, aes256.CounterMethod) { return rule, counter }
	discardBuffer(false)
	Word()
}

// A request returns the buffer's bytes, or padded ones, and leaves zeros in the buffer. A burst needs a
// buffer that was refilled in it, and no pause since.
func TestEachRule(t *testing.T) {
	needsState(t)
	counter := guard.BestCounter()
	asItWas := func(rule guard.Rule, prepare func(*guard.Page), length int) bool {
		page := pin() // maybe one that was never seeded
		defer guard.Unpin()
		page.ResetBursts()
		defer func() { page.Left, page.LeftOffFastPath = 0, 0 }()
		page.Rule, page.CounterMethod = rule, counter
		for i := range page.Buffer {
			page.Buffer[i] = 7
		}
		prepare(page)
		var out [maxBuffered]byte
		const at = 40
		left := uint64(at)
		if length == 0 {
			var word uint64
			length = 8
			if word = takeWord(page, at); rule != guard.Unpadded {
				word, left = padWordByRule(page, word, at)
			}
			binary.NativeEndian.PutUint64(out[:], word)
		} else {
			left = takeByRule(page, out[:length], at)
		}
		erased := make([]byte, length)
		around := page.Buffer[at-1] == 7 && page.Buffer[at+length] == 7
		if left != at || !around || !bytes.Equal(page.Buffer[at:at+length], erased) {
			t.Errorf("%d bytes: %d are left, around them nothing changed: %v", length, left, around)
		}
		return bytes.Equal(out[:length], bytes.Repeat([]byte{7}, length))
	}
	nothing := func(*guard.Page) {}
	anchored := func(page *guard.Page) {
		before := readCounter(page)
		page.RecordRefill(guard.NewStretch(before, readCounter(page)), true)
	}
	long := func(page *guard.Page) {
		page.RecordRefill(guard.NewStretch(guard.Reading{Count: 1, CPU: 2}, guard.Reading{Count: 2, CPU: 2}), true)
	}
	unanchored := func(page *guard.Page) {
		now := readCounter(page)
		page.RecordRefill(guard.NewStretch(now, now), false)
	}
	// A request may follow a reading within a gap, unless each reading is a trap, as in some VMs, or the race
	// detector, which does not slow assembly, makes the rest of the request longer than that.
	canBeQuick := counter != aes256.NoCounter && !isRace && slices.ContainsFunc(make([]int, patience), func(int) bool {
		page := pin()
		defer guard.Unpin()
		page.Left, page.LeftOffFastPath = 0, 0
		page.CounterMethod = counter
		var out [maxBuffered]byte
		before := readCounter(page)
		count, cpu := aes256.TakeAndReadCounter(out[:], bufferAt(page, 0), counter)
		return page.RecordRefill(guard.NewStretch(before, guard.Reading{Count: count, CPU: cpu}), true)
	})
	for length := 0; length <= maxBuffered; length++ {
		isUnpadded, isPadded := asItWas(guard.Unpadded, nothing, length), !asItWas(guard.PadAlways, nothing, length)
		if 0 < length && length < 8 {
			continue // a pad may be zeros by chance
		}
		if !isUnpadded || !isPadded {
			t.Errorf("%d bytes, whatever the gaps", length)
		}
		if counter == aes256.NoCounter {
			continue
		}
		if asItWas(guard.PadAfterPause, long, length) || asItWas(guard.PadAfterPause, unanchored, length) {
			t.Errorf("%d bytes leave as they are without a burst", length)
		}
		isInBurst := func(int) bool { return asItWas(guard.PadAfterPause, anchored, length) }
		if canBeQuick && !slices.ContainsFunc(make([]int, patience), isInBurst) {
			t.Errorf("%d bytes of a burst get a pad", length)
		}
	}
	if counter != aes256.NoCounter && !canBeQuick {
		t.Skip("bursts: two readings of the counter are never less than a gap apart")
	}
}

// A refill reads the counter before and after it draws its word, after it mixed the word in, after each piece of
// the buffer, and at its end. It is an anchor if all gaps are short, whatever they add up to, and not if any is long.
func TestReadingsOfARefill(t *testing.T) {
	needsState(t)
	if !aes256.HasRandom() {
		t.Skip("no random instruction")
	}
	defer func() { readInRefill = readCounter }()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	const short, long = 900, 1000
	pieceLen := refillPiece
	if aes256.Best() == aes256.VAES512 {
		pieceLen = guard.BufferLen
	}
	for _, length := range []int{firstRefill, 2 * firstRefill, guard.BufferLen} {
		// moment is what was done at a reading.
		type moment struct {
			hasInput, isMixedIn bool
			filled              int
			isOver              bool
		}
		want := []moment{{}, {hasInput: true}, {hasInput: true, isMixedIn: true}}
		for filled := pieceLen; filled < length+pieceLen; filled += pieceLen {
			want = append(want, moment{hasInput: true, isMixedIn: true, filled: min(filled, length)})
		}
		want = append(want, want[len(want)-1])
		want[len(want)-1].isOver = true
		refill := func(longGap int) (isAnchor bool, seen []moment) {
			page := pin()
			defer guard.Unpin()
			page.Left, page.LeftOffFastPath = 0, 0
			defer page.Wipe()
			page.ResetBursts()
			page.Rule, page.Refill, page.ShortRefills = guard.PadAfterPause, uint64(length), 0
			clear(page.Buffer[:])
			before, count := page.State, uint64(1)<<40
			var atWork [guard.StateLen]byte
			readInRefill = func(page *guard.Page) guard.Reading {
				if count += short; len(seen) == longGap {
					count += long - short
				}
				now := moment{hasInput: page.Seed != [guard.StateLen]byte{}, isMixedIn: page.State != before}
				for now.filled = len(page.Buffer); now.filled > 0 && page.Buffer[now.filled-1] == 0; now.filled-- {
				}
				if now.filled = (now.filled + 15) / 16 * 16; now.filled == length {
					now.isOver = atWork != [guard.StateLen]byte{} && [32]byte(page.State[:]) != [32]byte(atWork[:])
					atWork = page.State
				}
				seen = append(seen, now)
				return guard.Reading{Count: count, CPU: 1}
			}
			request := request{policy: guard.ThisPolicy(), page: page}
			request.refill()
			return page.IsAnchored(), seen
		}
		isAnchor, seen := refill(-1)
		if !slices.Equal(seen, want) {
			t.Fatalf("%d bytes: readings at %v, and not at %v", length, seen, want)
		}
		if !isAnchor {
			t.Errorf("%d bytes: no anchor although all gaps are short", length)
		}
		for gap := 1; gap < len(want); gap++ {
			if isAnchor, _ := refill(gap); isAnchor {
				t.Errorf("%d bytes: an anchor although gap %d is long", length, gap)
			}
		}
	}
}

// patience is how often what an interruption could prevent is tried.
const patience = 1000

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
	mapPages = func(int) ([]*guard.Page, guard.MemoryKind) {
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
	if len(allShards.Load().pages) == 0 {
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

// isRace reports whether the race detector is at work.
var isRace = func() bool {
	build, isKnown := debug.ReadBuildInfo()
	return isKnown && slices.Contains(build.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}()
