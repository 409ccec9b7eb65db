/* Shared code of the test programs. A program prints what it observes, which must be the same with
   and without the library. At its end it prints how many requests squall should have served and how
   many should have been left to the kernel; the test compares these with the counters. */
#pragma once
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* Ends a program that hangs. */
__attribute__((constructor)) static void end_in_time(void) { alarm(600); }

/* Whether the library replaces syscall(2). */
#if defined(__x86_64__) || defined(__aarch64__)
#define REPLACES_SYSCALL 1
#else
#define REPLACES_SYSCALL 0
#endif

/* Whether the C library's getrandom is the vDSO's (glibc 2.41). Its state is memory that the first draw of a
   thread may map; with it, a draw may make no system call. It writes to the buffer without a check. */
#ifdef __GLIBC_PREREQ
#define DRAWS_IN_VDSO __GLIBC_PREREQ(2, 41)
#else
#define DRAWS_IN_VDSO 0
#endif

/* The value of errno before each call. */
#define UNTOUCHED 99

/* Prints an expression's value, and errno after it. */
#define PRINT(expression)                                                                            \
    do {                                                                                           \
        errno = UNTOUCHED;                                                                         \
        long long value = (long long)(expression);                                            \
        printf("%s: %lld, %s\n", #expression, value,                                          \
               errno == UNTOUCHED ? "errno as it was" : strerror(errno));                          \
        fflush(stdout);                                                                            \
    } while (0)

/* Ends the program with a message if the condition does not hold. */
#define CHECK(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("line %d: %s: %s\n", __LINE__, #condition, strerror(errno));                    \
            fflush(stdout);                                                                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Prints the expected counts of an interface: requests that squall serves when it is preloaded, and requests
   that the kernel serves in either case. */
static inline void counted(const char *interface, long served, long forwarded) {
    printf("counted %s %ld %ld\n", interface, served, forwarded);
    fflush(stdout);
}

/* Prints the least number of requests that squall serves, if the exact number is not known. */
static inline void counted_at_least(const char *interface, long served) {
    printf("counted at least %s %ld\n", interface, served);
    fflush(stdout);
}

/* Whether bytes look drawn: they contain no 16 zeros in succession. */
static inline int looks_drawn(const unsigned char *bytes, size_t length) {
    size_t zeros = 0;
    for (size_t i = 0; i < length; i++) {
        zeros = bytes[i] ? 0 : zeros + 1;
        if (zeros == 16) return 0;
    }
    return 1;
}

static inline int compare_blocks(const void *a, const void *b) { return memcmp(a, b, 16); }

/* Counts the repeats among `count` blocks of 16 bytes. Sorts the blocks. */
static inline long repeats(unsigned char (*blocks)[16], size_t count) {
    long found = 0;
    qsort(blocks, count, 16, compare_blocks);
    for (size_t i = 1; i < count; i++) found += !memcmp(blocks[i - 1], blocks[i], 16);
    return found;
}
