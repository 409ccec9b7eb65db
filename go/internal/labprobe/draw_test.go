//go:build linux && amd64 && !purego

package main

import (
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

var allSources = []string{
	"go_squall", "go_squall_words", "go_squall_bursts", "go_squall_endless_bursts", "go_crypto_rand", "go_naive",
}

func TestSourcesGiveEachWordOnce(t *testing.T) {
	seen := map[uint64]string{}
	for _, name := range allSources {
		source, err := newSource(name)
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			for _, word := range source() {
				if other, isOld := seen[word]; isOld {
					t.Fatalf("%s gave %#x, and %s had", name, word, other)
				}
				seen[word] = name
			}
		}
	}
	if _, err := newSource("go_other"); err == nil {
		t.Error("a source that does not exist")
	}
}

func TestEverySourceIsRecordedUntilTheLabWantsNoMore(t *testing.T) {
	const run, capacity, patience = 1, 1 << 14, 2 * time.Minute
	memory := make([]uint64, 64)
	plan := plan{Run: run}
	for i, name := range allSources {
		plan.Channels = append(plan.Channels,
			channel{Source: name, Count: 1 + i, First: len(memory), Capacity: capacity})
		memory = append(memory, make([]uint64, capacity*recordWords)...)
	}
	drawers, err := newDrawers(memory, plan)
	if err != nil {
		t.Fatal(err)
	}

	command := command{word: &memory[plan.Command], run: plan.Run}
	isDone := make(chan bool)
	go func() {
		command.await()
		drawAll(drawers, command)
		close(isDone)
	}()
	atomic.StoreUint64(command.word, run)
	deadline := time.Now().Add(patience)
	for _, channel := range plan.Channels {
		for atomic.LoadUint64(&memory[channel.Count]) < 10 {
			if time.Now().After(deadline) {
				t.Fatalf("%s is not recorded", channel.Source)
			}
			time.Sleep(period)
		}
	}
	atomic.StoreUint64(command.word, run+1)
	select {
	case <-isDone:
	case <-time.After(patience):
		t.Fatal("drawn after the end")
	}
	if !countersAgree() {
		t.Skip("times: cycle counters of two CPUs may differ")
	}
	for _, channel := range plan.Channels {
		checkTimes(t, memory, channel)
	}
}

// countersAgree reports whether the kernel's clock relies on cycle counters, because those of all CPUs agree.
func countersAgree() bool {
	source, _ := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	return slices.Contains([]string{"tsc", "kvm-clock"}, strings.TrimSpace(string(source)))
}

// checkTimes looks whether requests were made and answered one after the other.
func checkTimes(t *testing.T, memory []uint64, channel channel) {
	var last uint64
	for i := range int(memory[channel.Count]) {
		words := memory[channel.First+i*recordWords:]
		asked, given := words[0], words[1]
		if asked < last || given <= asked {
			t.Fatalf("%s: asked at %d, given at %d, the last at %d", channel.Source, asked, given, last)
		}
		last = given
	}
}

func TestTheStatusHasTheLabsKeys(t *testing.T) {
	status := status()
	for _, key := range []string{"engine", "memory", "clone_guard", "reseed_guard"} {
		if value, _ := status[key].(string); value == "" {
			t.Errorf("%s: %v", key, status[key])
		}
	}
}
