package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/squall-rng/squall/go/examples/internal/example"
)

// output is what the program prints for these arguments, and how it ends.
func output(arguments ...string) (out, errs string, status int) {
	var outs, lines strings.Builder
	status = example.Run("feed", run, arguments, &outs, &lines)
	return outs.String(), lines.String(), status
}

var line = regexp.MustCompile(`^(\S+): (\d+) values, (\d+) letters, goroutines: \d+ to \d+: \d+\.\d{3} s; CPU.*\n$`)

func TestEverySourceFeeds(t *testing.T) {
	for source := range makers() {
		for _, c := range []struct{ goroutines, values int }{{10, 20}, {1, 200}, {1000, 1}} {
			out, errs, status := output("-source", source, "-goroutines", fmt.Sprint(c.goroutines), "-values", fmt.Sprint(c.values))
			found := line.FindStringSubmatch(out)
			if status != 0 || errs != "" || found == nil || found[1] != source {
				t.Fatalf("%s: status %d, %q, %q", source, status, out, errs)
			}
			var values, letters int
			fmt.Sscan(found[2], &values)
			fmt.Sscan(found[3], &letters)
			// The mean of 200 lengths has a standard deviation of 204.
			if mean := letters / values; values != c.goroutines*c.values || mean < 3_500 || mean > 6_500 {
				t.Errorf("%s: %d values of %d letters each", source, values, mean)
			}
		}
	}
}

func TestTextsAreOfLetters(t *testing.T) {
	for source, maker := range makers() {
		text := maker()
		var found [256]int
		all := 0
		for range 20 {
			value := text()
			if len(value) >= bound {
				t.Errorf("%s: %d letters", source, len(value))
			}
			for _, letter := range value {
				found[letter]++
			}
			all += len(value)
		}
		for _, letter := range alphabet {
			all -= found[letter]
			if found[letter] == 0 {
				t.Errorf("%s: no %c", source, letter)
			}
		}
		if all != 0 {
			t.Errorf("%s: %d bytes are no letters", source, all)
		}
	}
}

func TestProfileIsWritten(t *testing.T) {
	profile := filepath.Join(t.TempDir(), "cpu")
	if _, errs, status := output("-values", "10", "-profile", profile); status != 0 {
		t.Fatal(errs)
	}
	if written, err := os.ReadFile(profile); err != nil || len(written) == 0 {
		t.Errorf("%d bytes of a profile: %v", len(written), err)
	}
	if _, errs, status := output("-values", "10", "-profile", t.TempDir()); status != 1 || strings.Count(errs, "\n") != 1 {
		t.Errorf("a profile in the place of a folder: status %d, %q", status, errs)
	}
}

func TestMistakes(t *testing.T) {
	for _, arguments := range []string{"-source no", "-goroutines 0", "-goroutines 100001", "-values 0", "-values x", "-no", "it"} {
		out, errs, status := output(strings.Fields(arguments)...)
		if status != 2 || out != "" || !strings.HasPrefix(errs, "feed: ") || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: status %d, %q, %q", arguments, status, out, errs)
		}
	}
	if out, errs, status := output("-h"); status != 0 || errs != "" || !strings.Contains(out, "-values") {
		t.Errorf("help: status %d, %q, %q", status, out, errs)
	}
}

// A source that fails ends the program.
func TestFillEndsTheProgramWithoutBytes(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("letters of no bytes")
		}
	}()
	byBytes(strings.NewReader("abc"))()
}
