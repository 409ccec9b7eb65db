package squall_test

import (
	"crypto/rand"
	"fmt"
	"strings"
	"testing"

	squall "github.com/squall-rng/squall/go"
)

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
