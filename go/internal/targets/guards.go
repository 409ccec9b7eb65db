//go:build !squall_testing

package main

import "errors"

// without turns no guards off: other builds can.
func without(names []string) error {
	if len(names) > 0 {
		return errors.New("it takes no arguments")
	}
	return nil
}
