//go:build linux && amd64 && !purego

// Command labprobe draws in a VM that is cloned, from squall and from other sources.
//
// The lab's probe (research/probe) starts it in the guest. Its only argument describes where in memory to
// record the output of each source, which the lab reads from outside. It prints its protections as a line of
// JSON, or an error as a line of text. Then it waits until the lab wants records, and draws until the lab
// wants no more.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func run(arguments []string) error {
	plan, err := readPlan(arguments)
	if err != nil {
		return err
	}
	if err := setGuards(plan); err != nil {
		return err
	}
	memory, err := mapMemory(plan.Memory, plan.MemoryBytes)
	if err != nil {
		return err
	}
	drawers, err := newDrawers(memory, plan)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(status()); err != nil {
		return err
	}
	command := command{word: &memory[plan.Command], run: plan.Run}
	command.await()
	drawAll(drawers, command)
	return nil
}
