//go:build linux && amd64 && !purego

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/squall-rng/squall/go/internal/failpoint"
)

// planJSON describes a memory with one channel that extends to its end.
const planJSON = `{"memory": "file", "memory_bytes": 1024, "command": 1, "run": 7, "record_words": 12,
	"channels": [{"source": "go_squall", "count": 4, "first": 8, "capacity": 10}]}`

func TestAPlanIsRead(t *testing.T) {
	plan, err := readPlan([]string{planJSON})
	if err != nil {
		t.Fatal(err)
	}
	want := channel{Source: "go_squall", Count: 4, First: 8, Capacity: 10}
	if len(plan.Channels) != 1 || plan.Channels[0] != want {
		t.Errorf("channels: %+v", plan.Channels)
	}
	if plan.Memory != "file" || plan.MemoryBytes != 1024 || plan.Command != 1 || plan.Run != 7 {
		t.Errorf("plan: %+v", plan)
	}
}

func TestAnInvalidPlanIsRefused(t *testing.T) {
	for old, bad := range map[string]string{
		`"record_words": 12`: `"record_words": 13`,
		`"command": 1`:       `"command": 128`,
		`"count": 4`:         `"count": -1`,
		`"first": 8`:         `"first": 9`,
		`"capacity": 10`:     `"capacity": 11`,
		`"channels":`:        `channels:`,
	} {
		if _, err := readPlan([]string{strings.Replace(planJSON, old, bad, 1)}); err == nil {
			t.Errorf("taken: %s", bad)
		}
	}
	if _, err := readPlan(nil); err == nil {
		t.Error("taken: no plan")
	}
}

// Guards are changed by builds that can, and nowhere silently kept as they are.
func TestGuardsOfAPlan(t *testing.T) {
	if err := failpoint.Activate(nil); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"no such failpoint", ""} {
		if failpoint.Activate([]string{name}) == nil {
			t.Errorf("taken: %q", name)
		}
	}
	read, err := readPlan([]string{strings.Replace(planJSON, `"memory":`, `"failpoints": ["PretendVM"], "memory":`, 1)})
	if err != nil || len(read.Failpoints) != 1 {
		t.Errorf("%+v: %v", read, err)
	}
}

// numbered is a record whose words are first and those that follow it.
func numbered(first uint64) *record {
	r := &record{askedAt: first, givenAt: first + 1, generation: first + 2, vmGeneration: first + 3}
	for i := range r.bits {
		r.bits[i] = first + 4 + uint64(i)
	}
	return r
}

func TestRecordsFollowEachOtherUntilTheChannelIsFull(t *testing.T) {
	const first, capacity = 5, 3
	memory := make([]uint64, first+(capacity+1)*recordWords)
	writer := newWriter(memory, channel{Count: 2, First: first, Capacity: capacity})
	for i := range uint64(capacity + 2) {
		writer.write(numbered(1 + i*uint64(recordWords)))
	}
	if memory[2] != capacity {
		t.Errorf("%d records are counted, not %d", memory[2], capacity)
	}
	for i, word := range memory[first : first+capacity*recordWords] {
		if word != uint64(i)+1 {
			t.Fatalf("word %d is %d", i, word)
		}
	}
	if behind := memory[first+capacity*recordWords:]; slices.Max(behind) != 0 {
		t.Error("something was written behind the channel")
	}
}

func TestMappedMemoryIsTheFile(t *testing.T) {
	const bytes = 1 << 16
	path := filepath.Join(t.TempDir(), "memory")
	if err := os.WriteFile(path, make([]byte, bytes), 0o600); err != nil {
		t.Fatal(err)
	}
	memory, err := mapMemory(path, bytes)
	if err != nil {
		t.Fatal(err)
	}
	if len(memory) != bytes/wordBytes {
		t.Fatalf("%d words", len(memory))
	}
	memory[1] = 0x0807060504030201
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := []byte{1, 2, 3, 4, 5, 6, 7, 8}; !slices.Equal(file[8:16], want) {
		t.Errorf("the file has %v", file[8:16])
	}
}

var allSources = []string{
	"go_squall", "go_squall_words", "go_crypto_rand", "go_naive",
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
	text, err := json.Marshal(currentStatus())
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"go", "engine", "memory", "clone_guard", "reseed_guard"} {
		if !strings.Contains(string(text), `"`+key+`":"`) {
			t.Errorf("no %s: %s", key, text)
		}
	}
}
