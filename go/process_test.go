package squall_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	squall "github.com/squall-rng/squall/go"
)

// childVariable has this program draw and print, instead of test.
const childVariable = "SQUALL_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childVariable) {
	case "":
		os.Exit(m.Run())
	case "draw":
		fmt.Printf("%x", squall.Bytes(16))
	case "first":
		var first [32]byte
		began := time.Now()
		squall.Fill(first[:])
		fmt.Print(time.Since(began).Nanoseconds())
	}
}

func child(t testing.TB, what string) string {
	t.Helper()
	command := exec.Command(os.Args[0])
	command.Env = append(os.Environ(), childVariable+"="+what)
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
		for _, drawn := range []string{child(t, "draw"), fmt.Sprintf("%x", squall.Bytes(16))} {
			if seen[drawn] || len(drawn) != 32 {
				t.Fatalf("%s is given out twice, or no 16 bytes", drawn)
			}
			seen[drawn] = true
		}
	}
}

// The first 32 bytes of a process, as the process measures them: the median of those that were started.
func BenchmarkFirstBytes(b *testing.B) {
	var times []int64
	for b.Loop() {
		var nanoseconds int64
		if _, err := fmt.Sscan(child(b, "first"), &nanoseconds); err != nil {
			b.Fatal(err)
		}
		times = append(times, nanoseconds)
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2]), "ns/first")
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
