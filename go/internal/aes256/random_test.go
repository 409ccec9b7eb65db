//go:build linux && (amd64 || arm64) && !purego

package aes256

import (
	"os"
	"regexp"
	"runtime"
	"testing"

	"github.com/squall-rng/squall/go/internal/registers"
)

// An instruction that gave no word is asked again after the next 1024.
func TestAPauseEnds(t *testing.T) {
	var p pause
	if p.skips(1) {
		t.Fatal("there is a pause at first")
	}
	p.begin()
	for word := 0; word < pauseLen; word += 2 {
		if !p.skips(2) {
			t.Fatalf("the pause ends after %d words", word)
		}
	}
	if p.skips(1) {
		t.Error("the pause does not end")
	}
	p.begin()
	p.skips(pauseLen - 1)
	if !p.skips(2) || p.skips(2) {
		t.Error("the pause does not end with a request for more words than are left of it")
	}
}

// failures replaces the random instruction, in the one place that the source has it, by another one that leaves what
// it leaves when it fails.
var failures = map[string]struct{ instruction, failure string }{
	"amd64": {`RDRANDQ (\w+)`, "XORQ $1, $1"},
	"arm64": {`MRS +RNDR, (\w+)`, "ANDS ZR, ZR, $1"},
}

// failing is set in the process whose random instruction fails.
const failing = "SQUALL_RANDOM_INSTRUCTION_FAILS"

// If the random instruction gives no word, pads have the caller's number, and the instruction is not asked for a
// while. Runs in a build whose instruction always fails.
func TestARandomInstructionThatFails(t *testing.T) {
	if os.Getenv(failing) == "" {
		runWithFailingInstruction(t)
		return
	}
	if !hasRandom {
		t.Skip("this CPU has no random instruction")
	}
	keys := roundKeys(t, testKey)
	const number = 0x0123_4567_89ab_cdef
	for _, draw := range []func(){
		func() {
			var dst [BlockSize]byte
			Pad(keys, dst[:], number)
			if word, _ := numberOf(t, dst[:]); word != number {
				t.Errorf("the word is %#x", word)
			}
		},
		func() {
			out := [3]uint64{0, 5, 6}
			XORNoise(&out, 2)
			if out[1] != 5 || out[2] != 6 {
				t.Errorf("%x", out)
			}
		},
	} {
		randomPause.left.Store(0)
		draw()
		if left := randomPause.left.Load(); left != pauseLen {
			t.Errorf("the pause has %d words", left)
		}
		draw()
		if left := randomPause.left.Load(); left != pauseLen-1 && left != pauseLen-2 {
			t.Errorf("then %d words", left)
		}
	}
	out := [3]uint64{}
	if missing := xorNoise(&out, 1); missing != 1 {
		t.Errorf("%d words are missing of one", missing)
	}
	if missing := xorNoise(&out, 2); missing != 2 {
		t.Errorf("%d words are missing of two", missing)
	}
}

// runWithFailingInstruction builds this package's test with that assembly, and runs it.
func runWithFailingInstruction(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("short tests build nothing")
	}
	assembly := "aes256_" + runtime.GOARCH + ".s"
	whole, err := os.ReadFile(assembly)
	if err != nil {
		t.Skipf("no assembly here: %v", err)
	}
	replace := failures[runtime.GOARCH]
	instruction := regexp.MustCompile(replace.instruction)
	if places := len(instruction.FindAll(whole, -1)); places != 1 {
		t.Fatalf("the assembly has the random instruction in %d places", places)
	}
	without := instruction.ReplaceAll(whole, []byte(replace.failure))
	t.Setenv(failing, "1")
	if output, err := registers.TestReplacing(t, map[string][]byte{assembly: without}, "-run=^"+t.Name()+"$", "."); err != nil {
		t.Errorf("%v:\n%s", err, output)
	}
}
