/* getrandom, getentropy and arc4random: all flags, lengths and errors; with BY_NUMBER, getrandom as
   programs make it that do not trust the C library to have it. */
#include "said.h"

#ifdef BY_NUMBER
#define getrandom(buffer, length, flags) syscall(SYS_getrandom, buffer, length, flags)
#define IS_SERVED IS_NUMBERED
#else
#define IS_SERVED 1
#endif

#ifdef __has_include
#if __has_include(<bits/libc-header-start.h>)
#define HAS_ARC4RANDOM (__GLIBC__ > 2 || (__GLIBC__ == 2 && __GLIBC_MINOR__ >= 36))
#endif
#endif

static unsigned char buffer[1 << 17];
static long served[2], forwarded[2];

static void ask(void *place, size_t length, unsigned flags) {
    memset(buffer, 0, sizeof buffer);
    errno = UNTOUCHED;
    ssize_t result = getrandom(place, length, flags);
    int error = errno;
    printf("getrandom %p %zu %u: %zd, %s\n", place == buffer ? NULL : place, length, flags, result,
           error == UNTOUCHED ? "errno as it was" : strerror(error));
    if (result < 0) {
        forwarded[0]++;
        return;
    }
    served[0]++;
    MUST(looks_drawn(buffer, result) && buffer[result] == 0);
}

static void ask_entropy(void *place, size_t length) {
    memset(buffer, 0, sizeof buffer);
    errno = UNTOUCHED;
    int result = getentropy(place, length);
    int error = errno;
    printf("getentropy %p %zu: %d, %s\n", place == buffer ? NULL : place, length, result,
           error == UNTOUCHED ? "errno as it was" : strerror(error));
    if (!result && !length && (uintptr_t)place >> 56) {
        /* The C library does not look at the address. */
        forwarded[1]++;
    } else if (!result) {
        served[1]++;
        MUST(looks_drawn(buffer, length) && buffer[length] == 0);
    } else if (error != EIO) {
        forwarded[1]++;
    }
}

int main(void) {
    const size_t lengths[] = {0, 1, 16, 255, 256, 257, 4096, 70000};
    const unsigned flags[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 0x80000000, 0xffffffff};
    void *bad[] = {NULL, (void *)1, (void *)4095, (void *)0x8000000000000000, (void *)-4096};
    for (size_t f = 0; f < sizeof flags / sizeof *flags; f++) {
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            ask(buffer, lengths[l], flags[f]);
        }
        for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
            ask(bad[b], 16, flags[f]);
            ask(bad[b], 0, flags[f]);
        }
        ask(NULL, SIZE_MAX, flags[f]);
    }
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) ask_entropy(buffer, lengths[l]);
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
        ask_entropy(bad[b], 16);
        ask_entropy(bad[b], 0);
        ask_entropy(bad[b], 257);
    }
    if (IS_SERVED) counted("getrandom", served[0], forwarded[0]);
    counted("getentropy", served[1], forwarded[1]);
#if HAS_ARC4RANDOM
    long draws = 0;
    uint32_t all = 0;
    errno = UNTOUCHED;
    for (int i = 0; i < 64; i++, draws++) all |= arc4random();
    MUST(all == UINT32_MAX);
    const uint32_t bounds[] = {0, 1, 2, 3, 10, 1u << 31, (1u << 31) + 1, UINT32_MAX};
    for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++) {
        uint32_t most = 0;
        for (int i = 0; i < 200; i++, draws++) {
            uint32_t number = arc4random_uniform(bounds[b]);
            MUST(number < bounds[b] || number == 0);
            if (number > most) most = number;
        }
        MUST(most >= bounds[b] / 2 || bounds[b] < 2);
    }
    arc4random_buf(buffer, 0);
    arc4random_buf(buffer, sizeof buffer);
    draws++;
    MUST(looks_drawn(buffer, sizeof buffer));
    printf("arc4random: %s\n", errno == UNTOUCHED ? "errno as it was" : strerror(errno));
    counted("arc4random", draws, 0);
#endif
    return 0;
}
