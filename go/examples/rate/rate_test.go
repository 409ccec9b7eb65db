package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/squall-rng/squall/go/examples/internal/example"
)

// output is what the program prints for these arguments, and how it ends.
func output(arguments ...string) (out, errs string, status int) {
	var outs, lines strings.Builder
	status = example.Run("rate", run, arguments, &outs, &lines)
	return outs.String(), lines.String(), status
}

var line = regexp.MustCompile(`^(\S+): (\d+\.\d) MB/s, goroutines: (\d+), reads of 32 bytes, buffer of (\d+): (\d+\.\d{3}) s; CPU.*\n$`)

func TestEverySourceHasARate(t *testing.T) {
	for source := range example.Readers {
		for _, c := range []struct{ goroutines, buffer string }{{"1", "4096"}, {"1", "0"}, {"1000", "4096"}} {
			out, errs, status := output("-source", source, "-seconds", "0.05", "-goroutines", c.goroutines, "-buffer", c.buffer)
			found := line.FindStringSubmatch(out)
			if status != 0 || errs != "" || found == nil || found[1] != source || found[3] != c.goroutines || found[4] != c.buffer {
				t.Fatalf("%s: status %d, %q, %q", source, status, out, errs)
			}
			var rate, seconds float64
			fmt.Sscan(found[2], &rate)
			fmt.Sscan(found[5], &seconds)
			if rate < 0.1 || rate > 1e6 || seconds < 0.05 {
				t.Errorf("%s: %g MB/s in %g s", source, rate, seconds)
			}
		}
	}
}

// The bytes that are counted are those that were read.
func TestBytesAreCounted(t *testing.T) {
	const length = 1000
	reader := &counting{}
	reads := reads{func() io.Reader { return reader }, 1, length, 0}
	bytes, err := reads.during(10 * time.Millisecond)
	if err != nil || bytes != reader.calls*length || bytes == 0 {
		t.Errorf("%d bytes of %d reads: %v", bytes, reader.calls, err)
	}
}

// A source that fails fails the program, and nobody waits for it.
func TestFailuresAreReported(t *testing.T) {
	reads := reads{func() io.Reader { return iotest.ErrReader(io.ErrUnexpectedEOF) }, 3, 32, 4096}
	if _, err := reads.during(10 * time.Millisecond); err != io.ErrUnexpectedEOF {
		t.Error(err)
	}
}

func TestProfileIsWritten(t *testing.T) {
	profile := filepath.Join(t.TempDir(), "cpu")
	if _, errs, status := output("-seconds", "0.01", "-profile", profile); status != 0 {
		t.Fatal(errs)
	}
	if written, err := os.ReadFile(profile); err != nil || len(written) == 0 {
		t.Errorf("%d bytes of a profile: %v", len(written), err)
	}
}

func TestMistakes(t *testing.T) {
	for _, arguments := range []string{
		"-source no", "-source squall-source", "-goroutines 0", "-goroutines 100001", "-seconds 0", "-seconds -1",
		"-seconds NaN", "-seconds 86401", "-bytes 0", "-buffer -1", "-bytes x", "-no", "it",
	} {
		out, errs, status := output(strings.Fields(arguments)...)
		if status != 2 || out != "" || !strings.HasPrefix(errs, "rate: ") || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: status %d, %q, %q", arguments, status, out, errs)
		}
	}
}

// counting counts reads.
type counting struct{ calls int64 }

func (c *counting) Read(b []byte) (int, error) {
	c.calls++
	return len(b), nil
}
