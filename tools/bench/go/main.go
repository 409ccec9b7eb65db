// Go's sources of random numbers, for `squall bench`: a program with its standard library alone.
//
//	serve crypto|math           says `ready`, and answers requests, one a line
//	first crypto|math           nanoseconds of the first 32 bytes of this process
//	pipeline SOURCE EACH        nanoseconds a string: ten make EACH of them, ten take them
//	rate SOURCE MILLISECONDS    nanoseconds a read of 32 bytes, for so long
//
// An answer is a line: a number, or `error` and why. The program never outlives its input.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"
)

func main() {
	if len(os.Args) < 3 {
		fail(errors.New("which source?"))
	}
	mode, name, rest := os.Args[1], os.Args[2], os.Args[3:]
	if mode == "serve" {
		serveInput(name)
		return
	}
	var ns float64
	var err error
	if mode == "first" {
		// Before anything else, so that nothing is warm.
		ns, err = first(name)
	}
	go endWithInput()
	switch mode {
	case "first":
	case "pipeline":
		ns, err = pipeline(name, count(rest))
	case "rate":
		ns, err = rate(name, time.Duration(count(rest))*time.Millisecond)
	default:
		err = errors.New("no such mode: " + mode)
	}
	if err != nil {
		fail(err)
	}
	fmt.Println(ns)
}

// first times the first 32 bytes.
func first(name string) (float64, error) {
	source, err := sourceNamed(name)
	if err != nil {
		return 0, err
	}
	var out [32]byte
	clock := time.Now()
	source.fill(out[:])
	elapsed := time.Since(clock)
	if out == [32]byte{} {
		return 0, errUnchanged
	}
	return float64(elapsed.Nanoseconds()), nil
}

// serveInput answers lines of standard input. They are read beside the work, so that an end of
// input ends the work too.
func serveInput(name string) {
	source, err := sourceNamed(name)
	if err != nil {
		fail(err)
	}
	fmt.Println("ready")
	lines := make(chan string)
	go func() {
		input := bufio.NewScanner(os.Stdin)
		for input.Scan() {
			lines <- input.Text()
		}
		os.Exit(0)
	}()
	for line := range lines {
		answer(os.Stdout, source, line)
	}
}

func endWithInput() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(1)
}

// count is the one argument that is left, a number of at least one.
func count(rest []string) int {
	if len(rest) == 1 {
		if n, err := strconv.Atoi(rest[0]); err == nil && n > 0 {
			return n
		}
	}
	fail(errors.New("how many?"))
	return 0
}

func fail(err error) {
	fmt.Println("error " + err.Error())
	os.Exit(1)
}
