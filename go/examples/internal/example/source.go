// Package example is what the two programs share: sources of random bytes, a command line, and what a
// run cost.
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

// Readers has, by the name of a source, what gives one goroutine its bytes. math is a generator of
// math/rand for each, as the article's second program has one: it is not for secrets.
var Readers = map[string]func() io.Reader{
	"squall": func() io.Reader { return squall.Reader },
	"crypto": func() io.Reader { return crypto.Reader },
	"math":   func() io.Reader { return math.New(math.NewSource(math.Int63())) },
}

// Choose is what sources have by a name. A name that they have not is a mistake.
func Choose[T any](sources map[string]T, name string) (T, error) {
	source, ok := sources[name]
	if !ok {
		return source, mistake("-source is one of %s: not %q", names(sources), name)
	}
	return source, nil
}

func names[T any](sources map[string]T) string {
	return strings.Join(slices.Sorted(maps.Keys(sources)), ", ")
}
