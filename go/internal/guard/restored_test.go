//go:build linux && (amd64 || arm64) && !purego

package guard

import (
	"fmt"
	"sync/atomic"
	"testing"
)

const statRest = " S 1 2 2 0 -1 4194560 93 0 0 0 1 2 0 0 20 0 1 0 3609600 25575424 4206"

func TestTheStartTimeIsFoundBehindAnyName(t *testing.T) {
	for _, name := range []string{"squall", "a) S 1 (b", ") ) )"} {
		stat := fmt.Sprintf("4711 (%s)%s", name, statRest)
		if time, ok := startTime([]byte(stat)); time != 3_609_600 || !ok {
			t.Errorf("%s: %d, %t", name, time, ok)
		}
	}
	for _, stat := range []string{"", "4711 (squall)", "4711 (squall) S 1", "4711 (squall"} {
		if _, ok := startTime([]byte(stat)); ok {
			t.Errorf("%q has a start time", stat)
		}
	}
}

// A process with another start has another generation in the next tick, and the channel receives it, on a machine that
// is no VM and where the machine has a signal of its own. The control is the same start.
func TestARestoredProcessHasAnotherGeneration(t *testing.T) {
	for _, isVM := range []bool{false, true} {
		t.Run(fmt.Sprintf("a VM: %t", isVM), func(t *testing.T) {
			useTestDevices(t)
			tick, start := new(uint64), ownStart
			followed := tickAddress.Swap(tick)
			t.Cleanup(func() { tickAddress.Store(followed); ownStart = start })
			*tick = 2
			var own atomic.Uint64
			own.Store(7)
			ownStart = func() (uint64, bool) { return own.Load(), true }
			signal := Process
			if isVM {
				acceptFiles(t)
				write(t, vmClock.path, vmclockPage(112, hasGeneration, 5, 7))
				signal = VMClock
			}
			clones := cloneDetectorFor(detectPolicy())
			if found := clones.Signal(); found != signal {
				t.Fatalf("the signal is %q", found)
			}
			before, _ := clones.Generation()
			atomic.AddUint64(tick, 2)
			checkChange(t, clones, before, false, "the same start")
			own.Store(8)
			checkChange(t, clones, before, false, "the same tick")
			generations := notify(t, clones)
			atomic.AddUint64(tick, 2)
			after := checkChange(t, clones, before, true, "another start")
			if received := <-generations; received != after {
				t.Errorf("the channel received %d, and not %d", received, after)
			}
		})
	}
}

func TestThisProcessWasNotRestored(t *testing.T) {
	var process restores
	if !process.isKnown() || process.number() != 0 {
		t.Errorf("known: %t; number %d", process.isKnown(), process.number())
	}
}
