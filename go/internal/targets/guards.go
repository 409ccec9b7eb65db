//go:build !squall_testing

package main

import "errors"

// turnOffGuards refuses names: only builds with the tag squall_testing can turn guards off.
func turnOffGuards(names []string) error {
	if len(names) > 0 {
		return errors.New("no arguments are allowed: build with -tags squall_testing to turn guards off")
	}
	return nil
}
