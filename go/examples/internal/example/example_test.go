package example

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Every source fills what it is given, and no two reads are the same.
func TestReadersFill(t *testing.T) {
	for name, source := range Readers {
		seen := map[string]bool{}
		for range 2 {
			reader := source()
			for range 2 {
				b := make([]byte, 10_000)
				if n, err := reader.Read(b); n != len(b) || err != nil {
					t.Fatalf("%s: %d bytes: %v", name, n, err)
				}
				if bytes.Count(b, []byte{0}) > 200 || seen[string(b)] {
					t.Errorf("%s: bytes are left as they were, or repeated", name)
				}
				seen[string(b)] = true
			}
		}
		if n, err := source().Read(nil); n != 0 || err != nil {
			t.Errorf("%s: nothing: %d bytes, %v", name, n, err)
		}
	}
}

// Work is measured, and its profile is written.
func TestCostOfWork(t *testing.T) {
	const work = 50 * time.Millisecond
	profile := filepath.Join(t.TempDir(), "cpu")
	cost := Measure(profile, func() {
		for began := time.Now(); time.Since(began) < work; {
		}
	})
	if written, err := os.ReadFile(profile); cost.Time < work || err != nil || len(written) == 0 {
		t.Errorf("%v of work cost %v, with %d bytes of a profile: %v", work, cost, len(written), err)
	}
}

func TestCostString(t *testing.T) {
	known := Cost{Time: time.Second, User: 1500 * time.Millisecond, System: 500 * time.Millisecond}
	if line := known.String(); line != "1.000 s; CPU: 1.500 s user, 0.500 s system, 25.0 % in the kernel" {
		t.Error(line)
	}
	if line := (Cost{Time: time.Second}).String(); line != "1.000 s; CPU time is not known" {
		t.Error(line)
	}
}
