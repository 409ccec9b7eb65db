package main

import (
	"strings"
	"testing"
)

func TestEverySourceFeeds(t *testing.T) {
	for source, maker := range makers() {
		for _, c := range []struct{ goroutines, values int }{{10, 20}, {1, 200}, {1000, 1}} {
			handed := feed(maker, c.goroutines, c.values)
			// The mean of 200 lengths has a standard deviation of 204.
			mean := handed.letters / handed.values
			if handed.values != int64(c.goroutines*c.values) || mean < 3_500 || mean > 6_500 {
				t.Errorf("%s: %d values of %d letters each", source, handed.values, mean)
			}
		}
	}
}

func TestTextsAreOfLetters(t *testing.T) {
	for source, maker := range makers() {
		text := maker()
		for range 20 {
			value := string(text())
			if len(value) >= bound || strings.Trim(value, alphabet) != "" {
				t.Errorf("%s: %d letters, or others: %q", source, len(value), value)
			}
			if len(value) < 1000 {
				continue
			}
			for _, letter := range alphabet {
				if !strings.ContainsRune(value, letter) {
					t.Errorf("%s: no %c", source, letter)
				}
			}
		}
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
