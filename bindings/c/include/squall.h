/*
 * squall: cryptographic random bytes for C and C++, on Linux.
 *
 * The bytes come from user space, without system calls or locks. They are never repeated: not by a
 * forked child, not by a clone of the virtual machine, and not after the kernel's own generator was
 * reseeded.
 *
 * Functions are as fast in many threads as in one, and need no set-up: the first call of a thread
 * takes some microseconds, as does the first after a fork. Signal handlers may call every function
 * whose comment does not say otherwise, even a handler that interrupts one; errno may change. If the
 * library is loaded by dlopen after the program's start, each thread makes its first call outside of
 * signal handlers and malloc, because it may allocate (README.md, "Linking"). A null
 * pointer is an error, not a crash. Everything else that C leaves undefined remains undefined: a
 * length that exceeds the memory, a stream that was freed.
 *
 * Link with `pkg-config --libs squall`. Error codes and the meanings of functions do not change under
 * the same soname.
 */


#ifndef SQUALL_H
#define SQUALL_H

#include <stddef.h>
#include <stdint.h>

/* A result that must not be ignored: after an error, the buffer is not random. */
#if defined(__GNUC__)
#define SQUALL_MUST_USE __attribute__((__warn_unused_result__))
#else
#define SQUALL_MUST_USE
#endif

/* No function throws. */
#if defined(__cplusplus) && __cplusplus >= 201103L
#define SQUALL_NOTHROW noexcept
#elif defined(__GNUC__)
#define SQUALL_NOTHROW __attribute__((__nothrow__))
#else
#define SQUALL_NOTHROW
#endif

/**
 * The call succeeded.
 */
#define SQUALL_OK 0

/**
 * A pointer is null, but must not be. Nothing was written.
 */
#define SQUALL_E_NULL -1

/**
 * There is no source of randomness: getrandom(2) and /dev/urandom were both refused, as in a
 * sandbox. The buffer must not be used.
 */
#define SQUALL_E_NO_ENTROPY -2

/**
 * The request reaches past the end of the stream, at byte 2^64. Nothing was written.
 */
#define SQUALL_E_END_OF_STREAM -3

/**
 * The length exceeds PTRDIFF_MAX, the size of the largest object. Nothing was written.
 */
#define SQUALL_E_LENGTH -4

/**
 * Waits for clones of the virtual machine, and for restores of the process.
 *
 * Only one thread at a time may use a watch. A forked child must not use its parent's, but can make its own.
 */
typedef struct squall_clone_watch squall_clone_watch;

/**
 * A reproducible, seekable stream of 2^64 bytes: AES-256 in counter mode from counter zero.
 *
 * Byte i of the stream is byte i % 16 of AES-256(key, i / 16), the block counter as 16 big-endian
 * bytes (FIPS 197; NIST SP 800-38A section 6.5). Use it for wiping, verifying and seeded data.
 *
 * A stream is as secret as its key, and reproducible by design: for keys and tokens use `squall_fill`.
 * A forked child and a clone of the virtual machine continue with the same bytes as their siblings.
 *
 * Only one thread at a time may use a stream; different threads may use different streams. A signal
 * handler must not use a stream whose use it may have interrupted.
 */
typedef struct squall_stream squall_stream;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * The meaning of a code, in one line of English without a period.
 *
 * The string is never null, never changes and is never freed. Numbers that are not a code get one too.
 */
const char *squall_strerror(int code) SQUALL_NOTHROW;

/**
 * Fills `len` bytes at `buf` with random bytes: for keys, nonces, tokens, and anything else.
 *
 * `buf` may be null if `len` is 0. The first request of a process waits until the kernel's
 * generator is ready, which can take some time at boot only.
 *
 * Returns `SQUALL_OK`, `SQUALL_E_NULL`, `SQUALL_E_LENGTH`, or `SQUALL_E_NO_ENTROPY`. After an error
 * the bytes must not be used.
 *
 * Backtracking resistant: served bytes are erased and keys replaced, so a later leak of memory does
 * not reveal them. NIST SP 800-90A Rev. 1 section 10.2.1 (CTR_DRBG with AES-256).
 *
 * Any thread may call it, and signal handlers, unless dlopen loaded the library after the program's
 * start: then not first. A forked child never repeats its parent; a clone of the
 * virtual machine never repeats its sibling, within the limits of docs/SECURITY.md.
 */
SQUALL_MUST_USE int squall_fill(void *buf, size_t len) SQUALL_NOTHROW;

/**
 * Like `squall_fill`, but from a new seed of the kernel's RNG in every call, for each 64 KiB. Use it
 * for keys that live for years.
 *
 * It takes one or two microseconds where `squall_fill` takes nanoseconds. The bytes depend on no state
 * of this process: an attacker who has learned all of it cannot predict them. They are as fresh as
 * the kernel's RNG, which takes in new entropy about once a minute; that is not prediction resistance in
 * the sense of SP 800-90A. Errors, threads, forks and clones are as with `squall_fill`.
 */
SQUALL_MUST_USE int squall_fill_fresh(void *buf, size_t len) SQUALL_NOTHROW;

/**
 * A random number below 2^32.
 *
 * If there is no source of randomness at all, it aborts the program with a message, where
 * `squall_fill` returns an error. Everything else is as with `squall_fill`.
 */
uint32_t squall_u32(void) SQUALL_NOTHROW;

/**
 * A random number below 2^64. Everything else is as with `squall_u32`.
 */
uint64_t squall_u64(void) SQUALL_NOTHROW;

/**
 * A random number below `bound`, each equally likely; 0 if `bound` is 0 or 1.
 *
 * The time it takes may reveal that a number was rejected and drawn again, but not which number. If
 * there is no source of randomness at all, it aborts the program as `squall_u32` does. Everything else
 * is as with `squall_fill`.
 *
 * D. Lemire, "Fast Random Integer Generation in an Interval" (ACM TOMACS 29, 2019).
 */
uint64_t squall_uniform(uint64_t bound) SQUALL_NOTHROW;

/**
 * Stops reading the CPU's cycle counter, for a program that is about to switch it off with
 * `prctl(PR_SET_TSC, PR_TSC_SIGSEGV)`: the next reading would end it by SIGSEGV. A process whose
 * first draw comes after that needs no call.
 *
 * It holds for the whole process and its later children, and cannot be undone. kvm-clock is a signal of clones only if
 * squall could read the counter in the process's first ten milliseconds. With `squall run` or LD_PRELOAD no call is
 * needed: the kernel then serves the process.
 */
void squall_avoid_cycle_counter(void)
SQUALL_NOTHROW;

/**
 * Makes the stream of a key of 32 bytes, at byte 0. Free it with `squall_stream_free`.
 *
 * Returns null if `key` is null or there is no memory. The caller's copy of the key is not needed
 * afterwards and should be erased.
 */
SQUALL_MUST_USE squall_stream *squall_stream_new(const uint8_t key[32]) SQUALL_NOTHROW;

/**
 * Wipes a stream and frees its memory. `stream` may be null; it must not be used afterwards.
 */
void squall_stream_free(squall_stream *stream) SQUALL_NOTHROW;

/**
 * Fills `len` bytes at `buf` with the next bytes of the stream. `buf` may be null if `len` is 0.
 *
 * Returns `SQUALL_OK`, `SQUALL_E_NULL`, `SQUALL_E_LENGTH`, or `SQUALL_E_END_OF_STREAM` if fewer
 * than `len` bytes are left. After an error nothing was written, and the stream has not moved.
 */
SQUALL_MUST_USE int squall_stream_fill(squall_stream *stream, void *buf, size_t len) SQUALL_NOTHROW;

/**
 * Moves to byte `offset` of the stream. Returns `SQUALL_OK`, or `SQUALL_E_NULL` if `stream` is
 * null.
 */
int squall_stream_seek(squall_stream *stream, uint64_t offset) SQUALL_NOTHROW;

/**
 * Writes the offset of the stream's next byte to `offset`.
 *
 * Returns `SQUALL_OK`, `SQUALL_E_NULL`, or `SQUALL_E_END_OF_STREAM` at the end, after byte 2^64 - 1.
 * After an error nothing was written.
 */
SQUALL_MUST_USE int squall_stream_position(const squall_stream *stream, uint64_t *offset) SQUALL_NOTHROW;

/**
 * A number that changes when this process may be running in a clone of its virtual machine, or was itself restored from
 * a checkpoint (CRIU). It is 0 if nothing on this machine distinguishes a restored snapshot from a pause: then copies go
 * unnoticed.
 *
 * Compare it with earlier numbers of the same process only. Two copies may have the same number: it says that the
 * machine or the process was copied, not which copy this is. `squall_clone_signal` says how soon it changes.
 *
 * A call takes some nanoseconds, with the signal "kvm-clock" about a hundred. The first in each tick of the kernel, 1 to
 * 10 milliseconds apart, reads two files in /proc. With "kernel-log", a call makes a system call during the second after
 * each reseed of the kernel's generator, and before Linux 6.11 always. Any thread and signal handlers may call it. A forked
 * child begins with its parent's number; with "kernel-log", that changes once more at the kernel's next reseed.
 */
uint64_t squall_clone_generation(void)
SQUALL_NOTHROW;

/**
 * The name of the signal that `squall_clone_generation` follows: "kvm-clock", "vmclock" or "vmgenid-page", which change
 * before a clone runs, "kernel-log", where the kernel's message about vmgenid comes milliseconds after the clone begins to
 * run, or "process", where this is no virtual machine and only the process may be restored. Null if this process cannot
 * notice clones.
 *
 * The string never changes and is never freed.
 */
const char *squall_clone_signal(void)
SQUALL_NOTHROW;

/**
 * Returns a new watch, which reports clones and restores from now on. Free it with `squall_clone_watch_free`.
 *
 * Returns null after an error, with the cause in errno: ENOTSUP if this process cannot notice clones. Signal handlers
 * must not call it, because it allocates memory.
 */
SQUALL_MUST_USE
squall_clone_watch *squall_clone_watch_new(void)
SQUALL_NOTHROW;

/**
 * Frees a watch. `watch` may be null; it must not be used afterwards.
 */
void squall_clone_watch_free(squall_clone_watch *watch) SQUALL_NOTHROW;

/**
 * A descriptor for poll, select and epoll. It becomes readable when the machine may have been cloned or the process
 * restored, and every 0.1 seconds. Then call `squall_clone_wait` with a timeout of 0, which says which, and resets the
 * descriptor. Do not read from it, and do not close it.
 *
 * Returns -1 if `watch` is null.
 */
int squall_clone_fd(const squall_clone_watch *watch)
SQUALL_NOTHROW;

/**
 * Waits until the machine may have been cloned, or the process was restored, since the last call, or since the watch was
 * made: up to `timeout` milliseconds, or forever if that is negative.
 *
 * A signal handler that runs meanwhile does not end the wait: to be interrupted, poll the descriptor of `squall_clone_fd`.
 *
 * Returns 1 if so, 0 if the time has passed, and -1 after an error, with the cause in errno: EFAULT if `watch` is null.
 */
SQUALL_MUST_USE
int squall_clone_wait(squall_clone_watch *watch,
                      int timeout)
SQUALL_NOTHROW;

/**
 * The library's version, such as `0.1.0`. The string is never null, never changes and is never freed.
 */
const char *squall_version(void) SQUALL_NOTHROW;

/**
 * The protections of this process on this machine and the work of its generator so far, as one line
 * of JSON without a line break: an object whose keys are those of `squall status --json`. Later
 * versions may add keys, but remove none.
 *
 * Writes at most `len` bytes to `out`, including a null byte at the end, and cuts off the rest of the
 * text. 2048 bytes suffice. If `len` is 0 it writes nothing, and `out` may be null.
 *
 * Returns the length of the whole text in bytes, without the null byte; the text is complete if that
 * is less than `len`. On an error it returns one of the codes of `squall_fill`, which are negative.
 *
 * Any thread may call it, but signal handlers may not, because it allocates.
 */
int squall_status_json(char *out, size_t len) SQUALL_NOTHROW;

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SQUALL_H */
