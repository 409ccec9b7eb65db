//go:build linux && (amd64 || arm64) && !purego && squall_testing

package guard

// KVMClockPage is a page that tests can put in the place of kvm-clock's records.
type KVMClockPage = records

// ReplaceKVMClock has kvm-clock's records relied on that are in a test's memory, whatever they are. It must be called
// before any request.
func ReplaceKVMClock(records *KVMClockPage) {
	findKVMClock = func() *kvmClock {
		clock := &kvmClock{records: records}
		clock.rely()
		return clock
	}
}

// ReplaceTick makes a word of a test's the tick, until it is found not to be a clock.
func ReplaceTick(word *uint64) { tickAddress.Store(word) }
