//go:build !race && squall_testing

package generator

// isRace tells that the race detector is at work.
const isRace = false
