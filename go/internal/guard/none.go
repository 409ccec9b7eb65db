//go:build !linux || (!amd64 && !arm64) || purego

// Package guard keeps no state in this build, and does not look for signals of clones.
package guard

import "context"

// Clones knows of no signal of clones.
type Clones struct{}

// FindClones finds none.
func FindClones() *Clones { return new(Clones) }

// Signal returns "".
func (*Clones) Signal() string { return "" }

// Generation returns that it is unknown.
func (*Clones) Generation() (generation uint64, known bool) { return 0, false }

// Notify is not called without a signal.
func (*Clones) Notify(context.Context) <-chan uint64 { return nil }
