//go:build linux && (amd64 || arm64) && !purego && !race

// The race detector leaves things of its own in registers.

package generator

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/squall-rng/squall/go/internal/aes256"
	"github.com/squall-rng/squall/go/internal/guard"
	"github.com/squall-rng/squall/go/internal/registers"
)

// No request leaves anything in vector registers, nor a word of a key or counter in any: with pads and without,
// seeded anew or not, with each engine.
func TestRegistersAreErased(t *testing.T) {
	needsState(t)
	const narrow = "cpu.avx512vaes=off"
	if os.Getenv("GODEBUG") != narrow && slices.Contains(aes256.Available(), aes256.VAES512) {
		// Go's way to turn CPU features off, which has to be there from the start.
		command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRegistersAreErased$", "-test.v")
		command.Env = append(os.Environ(), "GODEBUG="+narrow)
		output, err := command.CombinedOutput()
		t.Logf("with another engine:\n%s", output)
		if err != nil {
			t.Errorf("with another engine: %v", err)
		}
	}
	// With one P each request is of the same page.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for name, isPadded := range padRules {
		usePads(t, isPadded)
		t.Run("word/"+name, func(t *testing.T) { erased(t, func() { Word() }) })
		for _, length := range []int{1, 8, 16, 17, 32, 33, 64, 65, 256, 257, 4096, 16384, 65536, 65537, 200_000} {
			out := make([]byte, length)
			for what, call := range map[string]func(){
				"bytes":      func() { Fill(out) },
				"simulation": func() { serve(simulation, out) },
				"fresh":      func() { Fresh(out) },
				"seeded":     func() { discardBuffer(true); Fill(out) },
				"refilled":   func() { discardBuffer(false); Fill(out) },
			} {
				t.Run(fmt.Sprintf("%v/%s/%d/%s", aes256.Best(), what, length, name), func(t *testing.T) {
					erased(t, call)
				})
			}
		}
	}
	t.Run("word/simulation", func(t *testing.T) { erased(t, func() { SimulationWord() }) })
}

// erased fails if call leaves a secret in registers.
func erased(t *testing.T, call func()) {
	t.Helper()
	var before, after guard.Page
	left := registers.After(func() {
		copyPage(&before)
		call()
	})
	if found := left.NonZero(); len(found) > 0 {
		t.Errorf("not zero: %v", found)
	}
	copyPage(&after)
	for what, secret := range map[string][]byte{
		"the state before": before.State[:], "the state": after.State[:], "keys of pads": after.PadKeys[:],
	} {
		if found := left.Words(secret); len(found) > 0 {
			t.Errorf("%s: %v", what, found)
		}
	}
}

// copyPage copies the P's page.
func copyPage(to *guard.Page) {
	page := pin()
	defer guard.Unpin()
	registers.Copy((*[guard.PageSize]byte)(unsafe.Pointer(to))[:], (*[guard.PageSize]byte)(unsafe.Pointer(page))[:])
}
