//go:build linux && amd64 && !purego && !squall_testing

package main

import "errors"

// setGuards accepts no plan that changes guards: only builds with the tag squall_testing can.
func setGuards(plan plan) error {
	if len(plan.Failpoints) > 0 || plan.GapCycles != 0 {
		return errors.New("this build cannot change guards: build it with -tags squall_testing")
	}
	return nil
}
