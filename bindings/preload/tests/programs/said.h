/* What the programs of these tests have in common. They say what they see, which must be the same
   with the library and without it, and last how many requests they think were served and left to
   the kernel, which the counters must confirm. */
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

/* A program that hangs is ended. */
__attribute__((constructor)) static void end_in_time(void) { alarm(600); }

/* Whether the library has a syscall(2). */
#if defined(__x86_64__) || defined(__aarch64__)
#define IS_NUMBERED 1
#else
#define IS_NUMBERED 0
#endif

/* What errno is before each call. */
#define UNTOUCHED 99

/* An expression's value, and errno after it. */
#define SAY(expression)                                                                            \
    do {                                                                                           \
        errno = UNTOUCHED;                                                                         \
        long long said_value = (long long)(expression);                                            \
        printf("%s: %lld, %s\n", #expression, said_value,                                          \
               errno == UNTOUCHED ? "errno as it was" : strerror(errno));                          \
        fflush(stdout);                                                                            \
    } while (0)

/* Ends the program if something that must hold does not. */
#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            printf("line %d: %s: %s\n", __LINE__, #condition, strerror(errno));                    \
            fflush(stdout);                                                                        \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Requests of a door that squall serves if it is there, and that are the kernel's either way. */
static inline void counted(const char *door, long served, long forwarded) {
    printf("counted %s %ld %ld\n", door, served, forwarded);
    fflush(stdout);
}

/* As above, where it cannot be told how many more. */
static inline void counted_at_least(const char *door, long served) {
    printf("counted at least %s %ld\n", door, served);
    fflush(stdout);
}

/* Whether bytes look drawn: 16 zeros on end do not. */
static inline int looks_drawn(const unsigned char *bytes, size_t length) {
    size_t zeros = 0;
    for (size_t i = 0; i < length; i++) {
        zeros = bytes[i] ? 0 : zeros + 1;
        if (zeros == 16) return 0;
    }
    return 1;
}

static inline int compare_blocks(const void *a, const void *b) { return memcmp(a, b, 16); }

/* How many of `count` blocks of 16 bytes are there more than once. Sorts them. */
static inline long repeats(unsigned char (*blocks)[16], size_t count) {
    long found = 0;
    qsort(blocks, count, 16, compare_blocks);
    for (size_t i = 1; i < count; i++) found += !memcmp(blocks[i - 1], blocks[i], 16);
    return found;
}
