//go:build linux && (amd64 || arm64) && !purego && !race

// The race detector leaves things of its own in registers.

package squall_test

import (
	"testing"

	squall "github.com/squall-rng/squall/go"
	"github.com/squall-rng/squall/go/internal/registers"
)

// Behind a request all vector registers are zero. What they would hold, and a control, are in
// internal/registers.
func TestReadLeavesVectorRegistersEmpty(t *testing.T) {
	if squall.Status().Engine == "none" {
		t.Skip("no engine, so no state")
	}
	for name, draw := range map[string]func(){
		"Uint64": func() { squall.Uint64() }, "SimulationSource": func() { squall.SimulationSource{}.Uint64() },
	} {
		if found := registers.After(draw).NonZero(); len(found) > 0 {
			t.Errorf("%s: %v", name, found)
		}
	}
	for _, length := range []int{1, 16, 17, 32, 33, 64, 65, 256, 257, 4096, 16384, 65536, 65537, 200_000} {
		out := make([]byte, length)
		for name, draw := range map[string]func(){
			"Read": func() { squall.Read(out) }, "Fresh": func() { squall.Fresh(out) },
		} {
			if found := registers.After(draw).NonZero(); len(found) > 0 {
				t.Errorf("%s of %d bytes: %v", name, length, found)
			}
		}
	}
}
