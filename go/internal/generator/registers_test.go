//go:build linux && (amd64 || arm64) && !purego && !race

// The race detector leaves things of its own in registers.

package generator

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"unsafe"

	"github.com/squall-rng/squall/go/internal/aes256"
	"github.com/squall-rng/squall/go/internal/guard"
	"github.com/squall-rng/squall/go/internal/registers"
)

// features are CPU features without which the next slower engine is the best.
var features = map[aes256.Engine]string{aes256.VAES512: "avx512vaes", aes256.VAES256: "avx2"}

// child is set, to an engine, in a process that runs the test without that engine.
const child = "SQUALL_WITHOUT_ENGINE"

// testWithout runs the test without an engine, in a process that turns off a feature from its start, as Go can.
func testWithout(t *testing.T, engine aes256.Engine, feature string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRegistersAreErased$", "-test.v")
	command.Env = append(os.Environ(), child+"="+engine.String(), "GODEBUG=cpu."+feature+"=off")
	output, err := command.CombinedOutput()
	t.Logf("without %v:\n%s", engine, output)
	if err != nil {
		t.Errorf("without %v: %v", engine, err)
	}
}

// No request leaves anything in vector registers, nor a word of a key or counter in any: with pads and without,
// seeded anew or not, with each engine.
func TestRegistersAreErased(t *testing.T) {
	needsState(t)
	if os.Getenv(child) == "" {
		for _, engine := range aes256.Available() {
			if feature, isFound := features[engine]; isFound {
				testWithout(t, engine, feature)
			}
		}
	} else if os.Getenv(child) == aes256.Best().String() {
		t.Fatal("this process should have another engine")
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
