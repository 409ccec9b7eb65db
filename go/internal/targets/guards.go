//go:build !squall_testing

package main

import "errors"

// activate refuses names: only builds with the tag squall_testing have failpoints.
func activate(names []string) error {
	if len(names) > 0 {
		return errors.New("no arguments are allowed: build with -tags squall_testing to name failpoints")
	}
	return nil
}
