//go:build linux && amd64 && !purego

package guard

// readBeforeChecking does nothing: x86-64 performs loads in program order (Intel SDM volume 3A, section 9.2.2).
func readBeforeChecking() {}

// markBeforeGoingOn does nothing: x86-64 performs stores in program order, and Go's atomic stores are full
// barriers there.
func markBeforeGoingOn() {}
