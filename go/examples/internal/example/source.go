// Package example has the code that the two programs share: sources of random bytes, a command line, and
// the cost of a run.
package example

import (
	crypto "crypto/rand"
	"io"
	"maps"
	math "math/rand"
	"slices"
	"strings"

	squall "github.com/squall-rng/squall/go"
)

// Readers has, by the name of a source, a function that returns one goroutine's reader. math returns a new
// generator of math/rand, as in the article's second program; it is not for secrets.
var Readers = map[string]func() io.Reader{
	"squall": func() io.Reader { return squall.Reader },
	"crypto": func() io.Reader { return crypto.Reader },
	"math":   func() io.Reader { return math.New(math.NewSource(math.Int63())) },
}

// Choose returns the source of this name; an unknown name is a mistake.
func Choose[T any](sources map[string]T, name string) (T, error) {
	source, ok := sources[name]
	if !ok {
		return source, mistake("-source %q: write one of %s", name, names(sources))
	}
	return source, nil
}

func names[T any](sources map[string]T) string {
	return strings.Join(slices.Sorted(maps.Keys(sources)), ", ")
}
