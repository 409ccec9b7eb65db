//go:build !linux || (!amd64 && !arm64) || purego

// Package guard keeps no state in this build, and does not look for signals of clones.
package guard

import "context"

// CloneDetector has no signal of clones.
type CloneDetector struct{}

// NewCloneDetector returns one without a signal.
func NewCloneDetector() *CloneDetector { return new(CloneDetector) }

// Signal returns [NoSignal].
func (*CloneDetector) Signal() Signal { return NoSignal }

// Generation returns false: it is unknown.
func (*CloneDetector) Generation() (generation uint64, known bool) { return 0, false }

// Notify must not be called without a signal.
func (*CloneDetector) Notify(context.Context) <-chan uint64 { return nil }
