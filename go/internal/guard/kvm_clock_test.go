//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"math"
	"testing"
	"time"
)

// plausibleRecords are those of two CPUs with 2.4 GHz.
func plausibleRecords() *records {
	both := new(records)
	for i := range 2 {
		both[i] = record{4, 1000, 500, 1<<40 | 255<<32 | 0xd554_4e16}
	}
	return both
}

// The page is recognised by its records, whatever their flags, and whether there is one or all 64.
func TestRecordsAreKnownByTheirContent(t *testing.T) {
	for name, c := range map[string]struct {
		change      func(r *records)
		isPlausible bool
	}{
		"two":                  {func(*records) {}, true},
		"one":                  {func(r *records) { r[1] = record{} }, true},
		"all":                  {func(r *records) { *r = records{}; setAll(r, plausibleRecords()[0]) }, true},
		"the last":             {func(r *records) { r[63] = r[1] }, true},
		"all flags":            {func(r *records) { r[1][3] |= 7 << 40 }, true},
		"none":                 {func(r *records) { *r = records{} }, false},
		"not the first":        {func(r *records) { r[0] = record{} }, false},
		"no version":           {func(r *records) { r[0][0] = 0 }, false},
		"an odd version":       {func(r *records) { r[1][0]++ }, false},
		"a long version":       {func(r *records) { r[0][0] = 1 << 32 }, false},
		"no factor":            {func(r *records) { r[0][3] = 1 << 40 }, false},
		"another factor":       {func(r *records) { r[1][3]++ }, false},
		"another shift":        {func(r *records) { r[1][3] ^= 1 << 32 }, false},
		"an unknown flag":      {func(r *records) { r[1][3] |= 8 << 40 }, false},
		"padding":              {func(r *records) { r[1][3] |= 1 << 63 }, false},
		"more than a record":   {func(r *records) { r[1][7] = 1 }, false},
		"in the last one":      {func(r *records) { r[63][4] = 1 }, false},
		"a time of the future": {func(r *records) { r[0][1] = math.MaxUint64 }, false},
	} {
		records := plausibleRecords()
		c.change(records)
		if records.arePlausible() != c.isPlausible {
			t.Errorf("%s: %t", name, !c.isPlausible)
		}
	}
}

func setAll(r *records, one record) {
	for i := range r {
		r[i] = one
	}
}

// Cycles become nanoseconds as the record says, and durations may differ by one in a hundred.
func TestTheRateOfARecord(t *testing.T) {
	for word, want := range map[uint64]uint64{
		255<<32 | 1<<31: 250_000_000, // shift -1, factor 1/2
		128<<32 | 1<<31: 0,           // shift -128
		1<<32 | 1<<31:   1_000_000_000,
		1 << 31:         500_000_000,
	} {
		if got := (&record{3: word}).nanoseconds(1_000_000_000); got != want {
			t.Errorf("%#x: %d", word, got)
		}
	}
	for counted, isSame := range map[uint64]bool{990: true, 1010: true, 989: false, 1011: false, 0: false} {
		if isSameTime(counted, 1000) != isSame {
			t.Errorf("%d of 1000: %t", counted, !isSame)
		}
	}
}

// Without RDPID a change of any record's version or count is seen. The clone generation changes with count and time, if they
// are the newest: at intervals KVM counts the version without either.
func TestAllRecordsAreCompared(t *testing.T) {
	records := new(records)
	setAll(records, plausibleRecords()[0])
	policy := Policy{kvmClock: ownKVMClock(t, records)}
	before, generation, value := records.all(), policy.cloneGeneration(), policy.VM()
	for i := range records {
		for at := range records[i] {
			records[i][at] += 2
			isSeen := at < 2
			if (records.all() != before) != isSeen || (policy.VM() != value) != isSeen {
				t.Errorf("record %d, word %d", i, at)
			}
			if (policy.cloneGeneration() != generation) != (at == 1 || at == 2) {
				t.Errorf("the clone generation, with record %d, word %d", i, at)
			}
			records[i][at] -= 2
		}
	}
}

// ownKVMClock relies on a test's records, until the test ends.
func ownKVMClock(t *testing.T, records *records) *kvmClock {
	t.Helper()
	if !mayHaveKVMClock {
		t.Skip("no kvm-clock on this architecture")
	}
	own, all := ownRecords.Load(), allRecords.Load()
	t.Cleanup(func() {
		ownRecords.Store(own)
		allRecords.Store(all)
		lastChange.Store(0)
		changesInSecond.Store(0)
	})
	clock := &kvmClock{records: records}
	clock.rely()
	return clock
}

// Records are given up if they change more than 256 times in a second. The controls change as often in several
// seconds, or are the same change noticed by several Ps.
func TestRecordsThatChangeTooOftenAreGivenUp(t *testing.T) {
	const most = 256
	for name, c := range map[string]struct {
		changes   int
		value     func(i int) uint64
		second    func(i int) uint64
		isGivenUp bool
	}{
		"one more":        {most + 1, func(i int) uint64 { return uint64(i + 1) }, func(int) uint64 { return 5 }, true},
		"as many":         {most, func(i int) uint64 { return uint64(i + 1) }, func(int) uint64 { return 5 }, false},
		"in two seconds":  {2 * most, func(i int) uint64 { return uint64(i + 1) }, func(i int) uint64 { return uint64(i / most) }, false},
		"the same change": {2 * most, func(int) uint64 { return 1 }, func(int) uint64 { return 5 }, false},
	} {
		t.Run(name, func(t *testing.T) {
			clock := ownKVMClock(t, plausibleRecords())
			policy := Policy{IsVM: true, kvmClock: clock}
			for i := range c.changes {
				clock.noteChange(c.value(i), c.second(i))
			}
			isCompared := ownRecords.Load() != nil || allRecords.Load() != nil
			if clock.isReliedOn() == c.isGivenUp || isCompared == c.isGivenUp || policy.HasImmediateSignal() == c.isGivenUp {
				t.Errorf("given up: %t, and compared: %t", !clock.isReliedOn(), isCompared)
			}
		})
	}
}

// Records count only when they are found to have KVM's rate, and not before there was time to measure it.
func TestRecordsAreReliedOnWhenTheyAreKVMs(t *testing.T) {
	clock := findKVMClock()
	if clock == nil {
		t.Skip("no records of kvm-clock")
	}
	settled := func(first moment) *kvmClock {
		own := ownKVMClock(t, plausibleRecords()) // for its clean-up
		*own = kvmClock{records: clock.records, first: first}
		own.settle()
		return own
	}
	isOver := func(first moment) bool {
		now, ok := now()
		return ok && now.time-first.time >= rateInterval
	}
	for {
		first, ok := now()
		early := settled(first)
		if !ok || isOver(first) {
			continue // the thread had to wait
		}
		if !early.isUndecided() {
			t.Error("it is decided at once")
		}
		break
	}
	for !isOver(clock.first) {
		time.Sleep(time.Millisecond)
	}
	want := givenUp
	if isGuestOfKVM() {
		want = reliedOn
	}
	if state := settledAtLast(settled, clock.first); state != want {
		t.Errorf("KVM's records, in state %d", state)
	}
	if state := settledAtLast(settled, moment{clock.first.count - 1<<33, clock.first.time}); state != givenUp {
		t.Errorf("records that count too fast, in state %d", state)
	}
}

// settledAtLast is the state that is decided in a moment when the thread is not interrupted.
func settledAtLast(settled func(moment) *kvmClock, first moment) uint32 {
	for {
		if clock := settled(first); !clock.isUndecided() {
			return clock.state.Load()
		}
	}
}
