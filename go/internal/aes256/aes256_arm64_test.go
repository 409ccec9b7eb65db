//go:build linux && arm64 && !purego

package aes256

import (
	"crypto/subtle"
	"os"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/squall-rng/squall/go/internal/registers"
	"golang.org/x/sys/cpu"
	"golang.org/x/sys/unix"
)

// Functions with a key set PSTATE.DIT. A write to memory that forbids it interrupts them, and leaves it as it was then.
func TestTimingIsConstantWhileThereIsAKey(t *testing.T) {
	keys := requireDIT(t)
	memory, err := unix.Mmap(-1, 0, os.Getpagesize(), unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Munmap(memory); err != nil {
			t.Error(err)
		}
	}()
	for name, call := range withKey(keys, memory) {
		if !hadConstantTime(t, call) {
			t.Errorf("%s: PSTATE.DIT is not set", name)
		}
	}
	// The control: a function without a key.
	if hadConstantTime(t, func() { Take(memory[:BlockSize], &make([]byte, BlockSize)[0]) }) {
		t.Errorf("the interruption sets PSTATE.DIT")
	}
}

func TestTimingIsThatOfTheCallerAfterwards(t *testing.T) {
	keys := requireDIT(t)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for name, call := range withKey(keys, make([]byte, KeysSize)) {
		call()
		if registers.HasConstantTime() {
			t.Errorf("%s: PSTATE.DIT is still set", name)
		}
		subtle.WithDataIndependentTiming(func() {
			call()
			if !registers.HasConstantTime() {
				t.Errorf("%s: PSTATE.DIT was the caller's, and is no longer set", name)
			}
		})
	}
}

// requireDIT skips where the CPU has no such state.
func requireDIT(t *testing.T) *[KeysSize]byte {
	t.Helper()
	if !cpu.ARM64.HasDIT {
		t.Skip("this CPU has no PSTATE.DIT")
	}
	return roundKeys(t, testKey)
}

// withKey are the functions that have a key, and write to memory.
func withKey(keys *[KeysSize]byte, memory []byte) map[string]func() {
	return map[string]func(){
		"expand":    func() { Expand(testKey, (*[KeysSize]byte)(memory)) },
		"keystream": func() { keystream(keys, new([BlockSize]byte), memory[:BlockSize]) },
		"pad":       func() { pad(keys, memory[:BlockSize], sourceCaller, 0, 1) },
	}
}

// hadConstantTime reports whether PSTATE.DIT was set when call was interrupted. Its thread ends with it.
func hadConstantTime(t *testing.T, call func()) bool {
	t.Helper()
	result := make(chan bool)
	go func() {
		runtime.LockOSThread()
		debug.SetPanicOnFault(true)
		defer func() {
			set := registers.HasConstantTime()
			if recover() == nil {
				t.Error("nothing interrupted it")
			}
			result <- set
		}()
		call()
	}()
	return <-result
}
