//go:build linux && (amd64 || arm64) && !purego

package guard

import "testing"

// later is a count of any counter that has run for a while.
const later = 1 << 40

// at is a reading on one of two CPUs.
func at(count uint64) Reading        { return Reading{count, 1} }
func elsewhere(count uint64) Reading { return Reading{count, 2} }

// unused is a page of which nothing is known but that it was seeded.
func unused() *Page {
	page := new(Page)
	page.ResetBursts()
	return page
}

// anchored is one whose buffer was made until later.
func anchored(t *testing.T) *Page {
	t.Helper()
	page := unused()
	if !page.RecordRefill(NewStretch(at(later-500), at(later)), true) {
		t.Fatal("a buffer that was made in half a gap is no anchor")
	}
	return page
}

// A burst goes on from request to request, each of which is less than a gap behind the last one.
func TestABurstContinues(t *testing.T) {
	page := anchored(t)
	count := uint64(later)
	for range 100 {
		count += usualGap - 1
		if !page.ContinuesBurst(at(count)) {
			t.Fatal("a short gap ends it")
		}
	}
	if page.ContinuesBurst(at(count + usualGap)) {
		t.Error("a long gap does not end it")
	}
}

// Anything but a short gap on one CPU is a pause; after it no gap is short enough.
func TestAPauseEndsABurst(t *testing.T) {
	for name, pause := range map[string]Reading{
		"a long gap": at(later + usualGap), "another CPU": elsewhere(later + 1), "a counter that went back": at(later - 1),
		"a counter that began anew": at(1), "a counter that ended": at(1<<64 - 1), "moved in the middle": {later + 1, 3},
	} {
		page := anchored(t)
		if page.ContinuesBurst(pause) {
			t.Errorf("%s: no pause", name)
		}
		if page.Pause(pause) {
			t.Errorf("%s: the buffer is given up at once", name)
		}
		if page.ContinuesBurst(Reading{pause.Count + 1, pause.CPU}) || page.ContinuesBurst(Reading{pause.Count + 1, 1}) {
			t.Errorf("%s: a short gap behind it is of the burst", name)
		}
	}
}

// A buffer is an anchor only if it was made within a gap, on one CPU, with a word of the random instruction.
func TestConditionsOfAnAnchor(t *testing.T) {
	if unused().ContinuesBurst(at(later)) || unused().ContinuesBurst(at(1)) || new(Page).ContinuesBurst(at(1)) {
		t.Error("a burst that never began goes on")
	}
	for name, making := range map[string]struct {
		before, after Reading
		hasWord       bool
	}{
		"it took a gap":         {at(later - usualGap), at(later), true},
		"on two CPUs":           {elsewhere(later - 500), at(later), true},
		"no word":               {at(later - 500), at(later), false},
		"the counter went back": {at(later + 1), at(later), true},
	} {
		page := anchored(t)
		if page.RecordRefill(NewStretch(making.before, making.after), making.hasWord) {
			t.Errorf("%s: it is an anchor", name)
		}
		if page.ContinuesBurst(Reading{later + 1, making.after.CPU}) {
			t.Errorf("%s: a burst goes on", name)
		}
	}
}

// padsUntilRefill is how many requests with a pad follow one another until the buffer is given up; so many if
// it is not.
func padsUntilRefill(page *Page) (count int) {
	const most = 5000
	for count = 1; count < most; count++ {
		if page.Pause(at(2*later + uint64(count))) {
			break
		}
	}
	return count
}

// The buffer is given up behind requests with a pad that follow one another, and not behind others.
func TestStreaks(t *testing.T) {
	page := anchored(t)
	if count := padsUntilRefill(page); count != padsBeforeRefill || !page.IsAnchored() {
		t.Errorf("after %d pads, of an anchor: %v", count, page.IsAnchored())
	}
	page = anchored(t)
	for i := range uint64(100) {
		if page.Pause(at(later + (i+1)*usualGap)) {
			t.Fatalf("after %d pads with pauses between them", i)
		}
	}
	page = unused()
	page.RecordRefill(NewStretch(at(later-usualGap), at(later)), true)
	if count := padsUntilRefill(page); count != padsBeforeRefill || page.IsAnchored() {
		t.Errorf("after %d pads, of an anchor: %v, which it was not", count, page.IsAnchored())
	}
}

// If the shortest refills take longer than a gap, they become less and less frequent, until one is quick enough.
func TestBackingOff(t *testing.T) {
	page := unused()
	for _, padsWanted := range []int{16, 32, 64, 128, 256, 512, 1024, 1024, 1024} {
		page.RecordRefill(NewStretch(at(later), at(later+usualGap)), true)
		page.BackOff()
		if count := padsUntilRefill(page); count != padsWanted || !page.IsBackedOff() {
			t.Errorf("after %d pads, and not %d", count, padsWanted)
		}
	}
	page.RecordRefill(NewStretch(at(later), at(later+1)), true)
	if count := padsUntilRefill(page); count != padsBeforeRefill || page.IsBackedOff() {
		t.Errorf("after %d pads", count)
	}
}
