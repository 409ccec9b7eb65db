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
			if rate > 1e6 || seconds < 0.05 {
				t.Errorf("%s: %g MB/s in %g s", source, rate, seconds)
			}
		}
	}
}

// The bytes that are counted are those that were read.
func TestBytesAreCounted(t *testing.T) {
	const length, count = 1000, 1000
	reads := reads{func() io.Reader { return &ending{left: count} }, 3, length, 0}
	if bytes, err := reads.during(time.Hour); err != io.EOF || bytes != 3*count*length {
		t.Errorf("%d bytes: %v", bytes, err)
	}
}

// A source that fails fails the program, and nobody waits for it.
func TestFailuresAreReported(t *testing.T) {
	reads := reads{func() io.Reader { return iotest.ErrReader(io.ErrUnexpectedEOF) }, 3, 32, 4096}
	if _, err := reads.during(time.Hour); err != io.ErrUnexpectedEOF {
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

// ending ends after some reads.
type ending struct{ left int }

func (e *ending) Read(b []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	e.left--
	return len(b), nil
}
