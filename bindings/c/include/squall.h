/*
 * squall: cryptographic random bytes for C and C++, on Linux.
 *
 * Served from user space, without system calls or locks, and never repeated: not by a forked child,
 * not by a clone of the virtual machine, and not after the kernel's own generator was reseeded.
 *
 * Functions are as fast in many threads as in one, and need no setting up: the first call of a
 * thread takes some microseconds, as does the first after a fork. All but those of which it is said
 * may be called in signal handlers, also in one that interrupts them; errno may change. A null
 * pointer is an error and no crash. Anything else that C leaves undefined stays so: memory that is
 * not as long as it was said to be, a stream that was freed.
 *
 * Link with `pkg-config --libs squall`. Numbers of errors and meanings of functions do not change
 * under the same soname.
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

/* Nothing is thrown. */
#if defined(__cplusplus) && __cplusplus >= 201103L
#define SQUALL_NOTHROW noexcept
#elif defined(__GNUC__)
#define SQUALL_NOTHROW __attribute__((__nothrow__))
#else
#define SQUALL_NOTHROW
#endif

/**
 * The call did what it was asked for.
 */
#define SQUALL_OK 0

/**
 * A pointer is null that may not be. Nothing was written.
 */
#define SQUALL_E_NULL -1

/**
 * There is no source of randomness: getrandom(2) and /dev/urandom were both refused, as by a
 * sandbox. The buffer must not be used.
 */
#define SQUALL_E_NO_ENTROPY -2

/**
 * The request reaches past the end of the stream, at byte 2^64. Nothing was written.
 */
#define SQUALL_E_END_OF_STREAM -3

/**
 * The length is larger than any object: PTRDIFF_MAX at most. Nothing was written.
 */
#define SQUALL_E_LENGTH -4

/**
 * A reproducible, seekable stream of 2^64 bytes: AES-256 in counter mode from counter zero.
 *
 * Byte i of the stream is byte i % 16 of AES-256(key, i / 16), the block counter as 16 big-endian
 * bytes (FIPS 197; NIST SP 800-38A section 6.5). For wiping, verifying and seeded data.
 *
 * As secret as its key, and reproducible by design: for keys and tokens use `squall_fill`. A
 * forked child and a clone of the virtual machine go on with the same bytes as their siblings.
 *
 * One thread at a time may use a stream, and different threads different streams; no signal
 * handler one that it may have interrupted.
 */
typedef struct squall_stream squall_stream;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * What a code means, in one line of English without a period.
 *
 * Never null, constant, and valid for ever; for numbers that are no code too.
 */
const char *squall_strerror(int code) SQUALL_NOTHROW;

/**
 * Fills `len` bytes at `buf` with random bytes: for keys, nonces, tokens, and anything else.
 *
 * `buf` may be null if `len` is 0. The first request of a process waits until the kernel's
 * generator is ready, which after boot it is.
 *
 * Returns `SQUALL_OK`, `SQUALL_E_NULL`, `SQUALL_E_LENGTH`, or `SQUALL_E_NO_ENTROPY`: the bytes
 * must not be used then.
 *
 * Backtracking resistant: served bytes are erased and keys replaced, so what leaks later does not
 * tell them. NIST SP 800-90A Rev. 1 section 10.2.1 (CTR_DRBG with AES-256).
 *
 * Any thread, and signal handlers. A forked child never repeats its parent; a clone of the
 * virtual machine never repeats its sibling, within the limits that SECURITY.md has.
 */
SQUALL_MUST_USE int squall_fill(void *buf, size_t len) SQUALL_NOTHROW;

/**
 * As `squall_fill`, from a new seed: new bytes of the kernel's RNG in every call, for each 64 KiB.
 * For keys that live for years.
 *
 * Costs one or two microseconds where `squall_fill` costs nanoseconds. The bytes depend on no state
 * of this process: an attacker who has learned all of it cannot predict them. They are as fresh as
 * the kernel's RNG, which takes in new entropy about once a minute; that is not prediction resistance in
 * the sense of SP 800-90A. Errors, threads, forks and clones as with `squall_fill`.
 */
SQUALL_MUST_USE int squall_fill_fresh(void *buf, size_t len) SQUALL_NOTHROW;

/**
 * A random number below 2^32.
 *
 * Where there is no source of randomness at all, the program is aborted with a message;
 * `squall_fill` returns an error instead. In everything else as `squall_fill`.
 */
uint32_t squall_u32(void) SQUALL_NOTHROW;

/**
 * A random number below 2^64. As `squall_u32` in everything else.
 */
uint64_t squall_u64(void) SQUALL_NOTHROW;

/**
 * A random number below `bound`, each equally likely; 0 if `bound` is 0 or 1.
 *
 * As `squall_fill` in everything else. How long it takes may tell that a number was drawn again,
 * but not which.
 *
 * Where there is no source of randomness at all, the program is aborted as by `squall_u32`. Any
 * thread, and signal handlers. D. Lemire, "Fast Random Integer Generation in an Interval" (ACM
 * TOMACS 29, 2019).
 */
uint64_t squall_uniform(uint64_t bound) SQUALL_NOTHROW;

/**
 * The stream of a key of 32 bytes, at byte 0; to be given back by `squall_stream_free`.
 *
 * Null if `key` is null or there is no memory. The key is not needed afterwards: who had it in a
 * buffer should erase it.
 */
SQUALL_MUST_USE squall_stream *squall_stream_new(const uint8_t key[32]) SQUALL_NOTHROW;

/**
 * Wipes a stream and gives its memory back. `stream` may be null; it must not be used afterwards.
 */
void squall_stream_free(squall_stream *stream) SQUALL_NOTHROW;

/**
 * Fills `len` bytes at `buf` with the next bytes of the stream. `buf` may be null if `len` is 0.
 *
 * Returns `SQUALL_OK`, `SQUALL_E_NULL`, `SQUALL_E_LENGTH`, or `SQUALL_E_END_OF_STREAM` if fewer
 * than `len` bytes are left; nothing is written then, and the stream stays where it is.
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
 * Returns `SQUALL_OK`, `SQUALL_E_NULL`, or at the end, after byte 2^64 - 1,
 * `SQUALL_E_END_OF_STREAM`; nothing is written then.
 */
SQUALL_MUST_USE int squall_stream_position(const squall_stream *stream, uint64_t *offset) SQUALL_NOTHROW;

/**
 * The library's version, as `0.1.0`. Never null, constant, and valid for ever.
 */
const char *squall_version(void) SQUALL_NOTHROW;

/**
 * What protects this process on this machine and what its generator has done so far, as a line
 * of JSON without a line break: an object whose keys are those of `squall status --json`. Keys
 * may come, none goes.
 *
 * Writes at most `len` bytes to `out`, a null byte at the end included, which cuts off what does
 * not fit; nothing if `len` is 0, and `out` may be null then. 2048 bytes suffice.
 *
 * Returns the length of the whole text in bytes, without the null byte; the text is whole if that
 * is less than `len`. Or else one of the codes of `squall_fill`, which are negative.
 *
 * Any thread; not in signal handlers: it allocates.
 */
int squall_status_json(char *out, size_t len) SQUALL_NOTHROW;

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* SQUALL_H */
