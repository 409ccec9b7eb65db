/* getrandom, getentropy and arc4random with all flags, lengths and errors. With BY_NUMBER, getrandom is
   called through syscall(2), as in programs that do not rely on the C library's function. */
#include "report.h"

#ifdef BY_NUMBER
#define getrandom(buffer, length, flags) syscall(SYS_getrandom, buffer, length, flags)
#define IS_SERVED REPLACES_SYSCALL
#define CHECKS_ARGUMENTS 1
#else
#define IS_SERVED 1
#define CHECKS_ARGUMENTS !DRAWS_IN_VDSO
#endif

#ifdef __has_include
#if __has_include(<bits/libc-header-start.h>)
#define HAS_ARC4RANDOM (__GLIBC__ > 2 || (__GLIBC__ == 2 && __GLIBC_MINOR__ >= 36))
#endif
#endif

static unsigned char buffer[1 << 17];
static long served[2], forwarded[2];

static void check_getrandom(void *place, size_t length, unsigned flags) {
    memset(buffer, 0, sizeof buffer);
    errno = UNTOUCHED;
    ssize_t result = getrandom(place, length, flags);
    int error = errno;
    printf("getrandom %p %zu %u: %zd, %s\n", place == buffer ? NULL : place, length, flags, result,
           error == UNTOUCHED ? "errno as it was" : strerror(error));
    /* The vDSO checks neither the address of no bytes, nor that two of the flags exclude each other. */
    int is_unchecked = !CHECKS_ARGUMENTS && ((flags & 6) == 6 || (!length && (uintptr_t)place >> 56));
    if (result < 0 || is_unchecked) forwarded[0]++;
    else served[0]++;
    if (result >= 0) CHECK(looks_drawn(buffer, result) && buffer[result] == 0);
}

static void check_getentropy(void *place, size_t length) {
    memset(buffer, 0, sizeof buffer);
    errno = UNTOUCHED;
    int result = getentropy(place, length);
    int error = errno;
    printf("getentropy %p %zu: %d, %s\n", place == buffer ? NULL : place, length, result,
           error == UNTOUCHED ? "errno as it was" : strerror(error));
    if (!result && !length && (uintptr_t)place >> 56) {
        /* The C library does not check the address. */
        forwarded[1]++;
    } else if (!result) {
        served[1]++;
        CHECK(looks_drawn(buffer, length) && buffer[length] == 0);
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
            check_getrandom(buffer, lengths[l], flags[f]);
        }
        for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
            if (CHECKS_ARGUMENTS) check_getrandom(bad[b], 16, flags[f]);
            check_getrandom(bad[b], 0, flags[f]);
        }
        if (CHECKS_ARGUMENTS) check_getrandom(NULL, SIZE_MAX, flags[f]);
    }
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) check_getentropy(buffer, lengths[l]);
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
        if (!DRAWS_IN_VDSO) check_getentropy(bad[b], 16);
        check_getentropy(bad[b], 0);
        check_getentropy(bad[b], 257);
    }
    if (IS_SERVED) counted("getrandom", served[0], forwarded[0]);
    counted("getentropy", served[1], forwarded[1]);
#if HAS_ARC4RANDOM
    long draws = 0;
    uint32_t all = 0;
    errno = UNTOUCHED;
    for (int i = 0; i < 64; i++, draws++) all |= arc4random();
    CHECK(all == UINT32_MAX);
    const uint32_t bounds[] = {0, 1, 2, 3, 10, 1u << 31, (1u << 31) + 1, UINT32_MAX};
    for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++) {
        uint32_t most = 0;
        for (int i = 0; i < 200; i++, draws++) {
            uint32_t number = arc4random_uniform(bounds[b]);
            CHECK(number < bounds[b] || number == 0);
            if (number > most) most = number;
        }
        CHECK(most >= bounds[b] / 2 || bounds[b] < 2);
    }
    arc4random_buf(buffer, 0);
    arc4random_buf(buffer, sizeof buffer);
    draws++;
    CHECK(looks_drawn(buffer, sizeof buffer));
    printf("arc4random: %s\n", errno == UNTOUCHED ? "errno as it was" : strerror(errno));
    counted("arc4random", draws, 0);
#endif
    return 0;
}
