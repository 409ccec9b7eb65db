package squall_test

import (
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	squall "github.com/squall-rng/squall/go"
)

// childVariable has this program draw and print, instead of test.
const childVariable = "SQUALL_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	fmt.Printf("%x", squall.Bytes(16))
}

// child is what a child of this process draws.
func child(t *testing.T) string {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), childVariable+"=1")
	output, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(output)
}

// Children by os/exec, and this process, do not repeat each other.
func TestProcessesDoNotRepeat(t *testing.T) {
	seen := map[string]bool{}
	count := 20
	if testing.Short() {
		count = 3
	}
	for range count {
		for _, drawn := range []string{child(t), fmt.Sprintf("%x", squall.Bytes(16))} {
			if seen[drawn] || len(drawn) != 32 {
				t.Fatalf("%s is given out twice, or no 16 bytes", drawn)
			}
			seen[drawn] = true
		}
	}
}

func TestText(t *testing.T) {
	seen := map[byte]bool{}
	for range 100 {
		text := squall.Text()
		if len(text) != 26 || strings.Trim(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") != "" {
			t.Fatalf("%q is no 26 characters of base32", text)
		}
		for i := range len(text) {
			seen[text[i]] = true
		}
	}
	if len(seen) != 32 {
		t.Errorf("only %d characters of 32 are used", len(seen))
	}
}

func TestStatus(t *testing.T) {
	state := squall.Status()
	t.Log(state)
	if state.Engine != "none" && (state.Reseeds == 0 || state.Memory == "none") {
		t.Errorf("%+v: it cannot be so", state)
	}
}

func TestReaderFillsAll(t *testing.T) {
	for _, length := range []int{0, 1, 100_000} {
		n, err := squall.Reader.Read(make([]byte, length))
		if n != length || err != nil {
			t.Errorf("%d bytes of %d: %v", n, length, err)
		}
	}
}

func BenchmarkRead(b *testing.B) {
	for _, length := range []int{4, 16, 32, 256, 4096, 1 << 16, 1 << 20} {
		buffer := make([]byte, length)
		run := func(name string, read func([]byte) (int, error)) {
			b.Run(fmt.Sprintf("%s/%d", name, length), func(b *testing.B) {
				b.SetBytes(int64(length))
				for b.Loop() {
					read(buffer)
				}
			})
		}
		run("squall", squall.Read)
		run("crypto", rand.Read)
	}
}
