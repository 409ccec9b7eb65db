//go:build linux && amd64 && !purego

package main

import (
	"strings"
	"testing"
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
	if err := setGuards(plan{}); err != nil {
		t.Error(err)
	}
	for _, plan := range []plan{{Failpoints: []string{"no such failpoint"}}, {GapCycles: 5, Failpoints: []string{""}}} {
		if setGuards(plan) == nil {
			t.Errorf("taken: %+v", plan)
		}
	}
	read, err := readPlan([]string{strings.Replace(planJSON, `"memory":`, `"failpoints": ["PretendKVM"], "gap_cycles": 9, "memory":`, 1)})
	if err != nil || len(read.Failpoints) != 1 || read.GapCycles != 9 {
		t.Errorf("%+v: %v", read, err)
	}
}
