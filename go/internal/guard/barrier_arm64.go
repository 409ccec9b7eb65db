//go:build linux && arm64 && !purego

package guard

// Why a page needs barriers on arm64.
//
// A page has one user at a time, and Go's scheduler orders one user's accesses before the next one's. But the
// kernel may empty the page between any two accesses, and a CPU with arm64 performs plain loads and stores in
// any order. Go's atomic loads and stores (LDAR, STLR) do not suffice: a plain load may be performed after a
// later LDAR, and a plain store before an earlier STLR.
//
// So the bytes of a page could be loaded after it was emptied, although its marks, which are checked later in
// the program, were loaded before; and bytes could be stored and lost, although the marks, which were stored
// earlier in the program, were stored behind the loss. Each check therefore waits for all loads in front of it,
// and everything waits for marks to be stored.
//
// The kernel's generation and the signal of clones need no barrier. The kernel may reseed immediately after any
// check. And a machine is stopped between two instructions: those in front of the stop have been executed, and
// those behind it are executed again.

// readBeforeChecking keeps all earlier loads ahead of all later ones (Arm ARM, DMB ISHLD).
func readBeforeChecking()

// markBeforeGoingOn keeps all earlier stores ahead of all later loads and stores (Arm ARM, DMB ISH).
func markBeforeGoingOn()
