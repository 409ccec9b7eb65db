//go:build race && squall_testing

package local

// isRace tells that the race detector is at work.
const isRace = true
