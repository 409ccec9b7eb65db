package example

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"time"
)

// Command is a command line: flags that both programs have, to which each adds its own.
type Command struct {
	*flag.FlagSet
	// Source is the name of a source.
	Source string
	// Goroutines is how many there are.
	Goroutines int
	// Profile is the file of a CPU profile; none is written if it is empty.
	Profile string

	help io.Writer
}

// NewCommand is the command line of a program that has these sources, and so many goroutines if it is
// not told. Help is written where output goes.
func NewCommand[T any](name string, sources map[string]T, goroutines int, help io.Writer) *Command {
	c := &Command{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError), help: help}
	c.SetOutput(io.Discard)
	c.StringVar(&c.Source, "source", "squall", "draw from `one` of "+names(sources))
	c.IntVar(&c.Goroutines, "goroutines", goroutines, "`how many` goroutines")
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
		return mistake("%q is not a flag", c.Arg(0))
	}
	return Between("goroutines", c.Goroutines, 1, 100_000)
}

// Between makes it a mistake if a flag's value is not from low to high.
func Between(name string, value, low, high int) error {
	if value < low || value > high {
		return mistake("-%s is from %d to %d: not %d", name, low, high, value)
	}
	return nil
}

// Seconds is the time of a flag in seconds, at most a day.
func Seconds(name string, value float64) (time.Duration, error) {
	const most = 24 * 60 * 60
	if !(value > 0 && value <= most) {
		return 0, mistake("-%s is more than 0 and at most %d: not %g", name, most, value)
	}
	return time.Duration(value * float64(time.Second)), nil
}

// errMistake is in every error that is due to the arguments.
type errMistake struct{ error }

func mistake(format string, parts ...any) error { return errMistake{fmt.Errorf(format, parts...)} }

// Run is a program's exit status: 0, 1 where it failed, or 2 where its arguments are wrong, of which
// there is one line in errs.
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
