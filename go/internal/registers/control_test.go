//go:build linux && amd64 && !purego

package registers

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/squall-rng/squall/go/internal/aes256"
)

// assembly is what is built without what erases registers.
const assembly = "../aes256/aes256_amd64.s"

var (
	// erasing is what the assembly marks as such.
	erasing = regexp.MustCompile(`(?m)^\t// erase\n(?:\t(?:ZERO|VZEROALL).*\n)+`)
	// alsoPasses are trials that have nothing to find: what comes out of the buffer by general registers.
	alsoPasses = regexp.MustCompile(`/(word/(unpadded|pad_after_pause|simulation)|bytes/(1|8|16)/(unpadded|pad_after_pause)|` +
		`simulation/(1|8|16)/\w+|take_and_look/(\d|1[0-5]))$`)
	trial = regexp.MustCompile(`(?m)^ +--- (PASS|FAIL): (\S+/\S+)`)
)

// The control of the tests that look into registers: without what erases them each of their trials fails,
// and finds a key there that makes what was given out.
func TestWithoutErasingKeysAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("short tests build nothing")
	}
	if !slices.Contains(aes256.Available(), aes256.VAES512) {
		t.Skip("only VAES-512 keeps all round keys in registers, and this CPU lacks it")
	}
	output, err := testedWithout(t)
	if err == nil {
		t.Errorf("the tests pass without what erases registers")
	}
	failed := 0
	for _, found := range trial.FindAllStringSubmatch(output, -1) {
		switch result, name := found[1], found[2]; {
		case result == "FAIL":
			failed++
		case !alsoPasses.MatchString(name):
			t.Errorf("%s finds nothing", name)
		}
	}
	keys := strings.Count(output, "the key of what was given out is found")
	if failed < 500 || keys < 10 {
		t.Errorf("only %d trials fail, and %d keys are found:\n%.10000s", failed, keys, output)
	}
	t.Logf("%d trials fail, %d keys are found", failed, keys)
}

// testedWithout is what those tests say without what erases registers.
func testedWithout(t *testing.T) (output string, err error) {
	t.Helper()
	whole, err := os.ReadFile(assembly)
	if err != nil {
		t.Fatal(err)
	}
	without := erasing.ReplaceAll(whole, nil)
	if erasing.Match(without) || len(without) == len(whole) || strings.Contains(string(without), "// erase") {
		t.Fatal("what erases registers is not found in the assembly")
	}
	return TestReplacing(t, assembly, without, "-v", "-run=^TestRegistersAreErased$", "../aes256", "../generator")
}
