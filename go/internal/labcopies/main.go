//go:build linux && amd64 && !purego

// Command labcopies draws what each line of its input asks for, until there are no more: a program of which the lab
// makes copies by restoring a checkpoint. A line "draw 4 16" asks for a line with a value of 4 bytes and one of 16, in
// hexadecimal. A line "generation " asks for two lines with the clone generation: other programs print a child's and their
// own. The first argument is the generator, squall or crypto/rand; the others are failpoints.
package main

import (
	"bufio"
	cryptorand "crypto/rand"
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	squall "github.com/squall-rng/squall/go"
	"github.com/squall-rng/squall/go/internal/failpoint"
)

func main() {
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(generator string, failpoints []string) error {
	if err := failpoint.Activate(failpoints); err != nil {
		return err
	}
	draw := fromSquall
	if generator == "crypto/rand" {
		draw = cryptorand.Read
	}
	// crypto/rand has a state for each thread, which repeats only in the same thread.
	runtime.LockOSThread()
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if fields[0] == "generation" {
			generation, _ := squall.CloneGeneration()
			fmt.Printf("%d\n%d\n", generation, generation)
			continue
		}
		if err := answer(draw, fields[1:]); err != nil {
			return err
		}
	}
	return lines.Err()
}

// answer prints values of these lengths.
func answer(draw func([]byte) (int, error), lengths []string) error {
	var line []string
	for _, length := range lengths {
		count, err := strconv.Atoi(length)
		if err != nil {
			return err
		}
		value := make([]byte, count)
		if _, err := draw(value); err != nil {
			return err
		}
		line = append(line, fmt.Sprintf("%x", value))
	}
	_, err := fmt.Println(strings.Join(line, " "))
	return err
}

func fromSquall(value []byte) (int, error) {
	switch len(value) {
	case 4:
		binary.NativeEndian.PutUint32(value, squall.Uint32())
	case 8:
		binary.NativeEndian.PutUint64(value, squall.Uint64())
	default:
		return squall.Read(value)
	}
	return len(value), nil
}
