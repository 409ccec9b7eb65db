/* Measures calls of libsquall from C: reads lines "WHAT CALLS" and answers each with
 * nanoseconds a call. WHAT is u32, u64 or a length in bytes, at most 16384.
 *
 * Alone:
 *   cc -O2 cost.c $(pkg-config --cflags --libs squall) && echo "u32 100000000" | ./a.out
 * In turns with the same calls from Rust, with medians:
 *   cargo run --release -p squall-c --no-default-features --example cost
 */

#define _POSIX_C_SOURCE 200809L

#include <squall.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static unsigned char buffer[16384];

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int repeat(const char *what, unsigned long long calls)
{
    if (strcmp(what, "u32") == 0) {
        while (calls-- > 0)
            (void)squall_u32();
    } else if (strcmp(what, "u64") == 0) {
        while (calls-- > 0)
            (void)squall_u64();
    } else {
        size_t len = (size_t)strtoul(what, NULL, 10);
        if (len == 0 || len > sizeof buffer)
            return -1;
        while (calls-- > 0)
            if (squall_fill(buffer, len) != SQUALL_OK)
                return -1;
    }
    return 0;
}

int main(void)
{
    char what[16];
    unsigned long long calls;

    while (scanf("%15s %llu", what, &calls) == 2) {
        double start = now();
        if (repeat(what, calls) != 0) {
            fprintf(stderr, "cost: no such call: %s\n", what);
            return EXIT_FAILURE;
        }
        printf("%.4f\n", (now() - start) / (double)calls);
        fflush(stdout);
    }
    return EXIT_SUCCESS;
}
