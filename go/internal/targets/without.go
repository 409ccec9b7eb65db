//go:build !squall_testing

package main

func without() {}
