//go:build linux && (amd64 || arm64) && !purego

package registers

import (
	"crypto/rand"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/squall-rng/squall/go/internal/aes256"
)

// Look captures every register, and clears it.
func TestLookSeesEveryRegister(t *testing.T) {
	var put, got, after File
	registers, lanes := registerCount()
	for i := range registers {
		for j := range lanes {
			rand.Read(put.Vectors[i][j][:])
		}
	}
	if runtime.GOARCH == "amd64" {
		put.Vectors[15][0] = Lane{} // Go's, which it sets to zero behind each function of assembly
	}
	if lanes == len(put.Vectors[0]) { // AVX-512
		for i := range put.Masks {
			put.Masks[i] = uint64(i)*0x0101010101010101 + 1
		}
	}
	// Another goroutine in between may change some, but not each time.
	isSeen := func() bool {
		load(&put)
		Look(&got)
		Look(&after)
		return got.Vectors == put.Vectors && got.Masks == put.Masks && len(after.NonZero()) == 0
	}
	if !slices.ContainsFunc(make([]int, patience), func(int) bool { return isSeen() }) {
		t.Errorf("put %v, found %v, then %v", put.NonZero(), got.NonZero(), after.NonZero())
	}
}

// A word of a secret is found in every register, whichever end is first.
func TestWordsOfSecretsAreFound(t *testing.T) {
	secret := []byte("one word. another")[:16]
	for at := range unsafe.Sizeof(File{}) / 8 {
		for _, word := range []uint64{binary.LittleEndian.Uint64(secret[8:]), binary.BigEndian.Uint64(secret[8:])} {
			var file File
			*(*uint64)(unsafe.Add(unsafe.Pointer(&file), 8*at)) = word
			if len(file.Words(secret)) != 1 {
				t.Errorf("not found in %s", nameAt(int(8*at)))
			}
		}
	}
	if found := new(File).Words(make([]byte, 16)); found != nil {
		t.Errorf("zeros are no secret: %v", found)
	}
}

var (
	// assembly is the pattern of files that are built without what erases registers.
	assembly = "../aes256/*_" + runtime.GOARCH + ".s"
	// erasing is what they mark as such.
	erasing = regexp.MustCompile(`(?m)^\t// erase\n(?:\t(?:ZERO|VZEROALL).*\n)+`)
	// alsoPasses are trials that have nothing to find: what comes out of the buffer by general registers.
	alsoPasses = regexp.MustCompile(`/(word/(unpadded|pad_after_pause|simulation)|bytes/(1|8|16)/(unpadded|pad_after_pause)|` +
		`simulation/(1|8|16)/\w+|take_and_look/(\d|1[0-5]))$`)
	trial = regexp.MustCompile(`(?m)^ +--- (PASS|FAIL): (\S+/\S+)`)
)

// The control of the tests that look into registers: without what erases them each of their trials fails.
func TestWithoutErasingSecretsAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("short tests build nothing")
	}
	if aes256.Best() == aes256.None {
		t.Skip("no AES instructions: there is nothing to erase")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
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
	secrets := strings.Count(output, "words of a secret: [")
	if failed < 500 || secrets < 100 {
		t.Errorf("only %d trials fail, and %d find words of a secret:\n%.10000s", failed, secrets, output)
	}
	t.Logf("%d trials fail, %d find words of a secret", failed, secrets)
}

// testedWithout is what those tests say without what erases registers.
func testedWithout(t *testing.T) (output string, err error) {
	t.Helper()
	files, err := filepath.Glob(assembly)
	if err != nil || len(files) == 0 {
		t.Fatalf("no assembly: %v", err)
	}
	texts := map[string][]byte{}
	for _, file := range files {
		whole, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		without := erasing.ReplaceAll(whole, nil)
		if len(without) == len(whole) || strings.Contains(string(without), "// erase") {
			t.Fatalf("what erases registers is not found in %s", file)
		}
		texts[file] = without
	}
	return TestReplacing(t, texts, "-v", "-run=^TestRegistersAreErased$", "../aes256", "../generator")
}
