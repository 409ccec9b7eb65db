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
	"runtime"
	"sync/atomic"
	"time"

	squall "github.com/squall-rng/squall/go"
	"github.com/squall-rng/squall/go/internal/failpoint"
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
	if err := failpoint.Activate(plan.Failpoints); err != nil {
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
	if err := json.NewEncoder(os.Stdout).Encode(currentStatus()); err != nil {
		return err
	}
	command := command{word: &memory[plan.Command], run: plan.Run}
	command.await()
	drawAll(drawers, command)
	return nil
}

// status is what the lab reports of this process: its protections, with the keys of the library in Rust.
type status struct {
	Go         string `json:"go"`
	GOMAXPROCS int    `json:"gomaxprocs"`
	squall.State
}

func currentStatus() status { return status{runtime.Version(), runtime.GOMAXPROCS(0), squall.Status()} }

// command is the word of the memory that the lab writes and this program reads: what is wanted.
type command struct {
	word *uint64
	// run is what it is while the lab wants records.
	run uint64
}

func (c command) isRun() bool { return atomic.LoadUint64(c.word) == c.run }

// await waits until the lab wants records.
func (c command) await() {
	for !c.isRun() {
		time.Sleep(time.Millisecond)
	}
}
