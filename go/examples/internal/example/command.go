package example

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"
)

// Command is a command line with the flags that both programs share; each program adds its own.
type Command struct {
	*flag.FlagSet
	// Source is the name of a source.
	Source string
	// Goroutines is the number of goroutines.
	Goroutines int
	// Profile is the file of a CPU profile; none is written if it is empty.
	Profile string

	help io.Writer
}

// NewCommand returns the command line of a program with these sources and this default number of
// goroutines. It writes help to the given writer.
func NewCommand[T any](name string, sources map[string]T, goroutines int, help io.Writer) *Command {
	c := &Command{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError), help: help}
	c.SetOutput(io.Discard)
	c.StringVar(&c.Source, "source", "squall", "draw from `one` of "+names(sources))
	c.IntVar(&c.Goroutines, "goroutines", goroutines, "`number` of goroutines")
	c.StringVar(&c.Profile, "profile", "", "write a CPU profile to `FILE`")
	return c
}

// Parse reads the arguments.
func (c *Command) Parse(arguments []string) error {
	err := c.FlagSet.Parse(arguments)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(c.help, "%s has these flags:\n", c.Name())
		c.SetOutput(c.help)
		c.PrintDefaults()
		return err
	case err != nil:
		return mistake("%w", err)
	case c.NArg() > 0:
		return mistake("unexpected argument %q: use the flags of -h", c.Arg(0))
	}
	return Between("goroutines", c.Goroutines, 1, 100_000)
}

// Between returns a mistake if a flag's value is not from low to high.
func Between(name string, value, low, high int) error {
	if value < low || value > high {
		return mistake("-%s %d: write a number from %d to %d", name, value, low, high)
	}
	return nil
}

// Seconds returns the time of a flag in seconds, at most a day.
func Seconds(name string, value float64) (time.Duration, error) {
	const most = 24 * 60 * 60
	if !(value > 0 && value <= most) {
		return 0, mistake("-%s %g: write a number above 0 and up to %d", name, value, most)
	}
	return time.Duration(value * float64(time.Second)), nil
}

// errMistake marks errors in the arguments.
type errMistake struct{ error }

func mistake(format string, parts ...any) error { return errMistake{fmt.Errorf(format, parts...)} }

// Run runs a program and returns its exit status: 0, 1 if it failed, or 2 if its arguments are wrong. It
// writes an error to errs, in one line.
func Run(name string, program func([]string, io.Writer) error, arguments []string, out, errs io.Writer) int {
	err := program(arguments, out)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	fmt.Fprintf(errs, "%s: %v\n", name, err)
	if errors.As(err, new(errMistake)) {
		return 2
	}
	return 1
}
