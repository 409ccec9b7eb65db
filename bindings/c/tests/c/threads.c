/* Two threads draw at once while a signal handler in each draws as well. At most one of the
 * numbers of 64 bits may come twice: by chance one does in 2^-28 of runs, and two do in 2^-57. */

#define _POSIX_C_SOURCE 200809L

#include <squall.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define THREADS 2
#define NUMBERS 200000

static uint64_t numbers[THREADS][NUMBERS];
static __thread volatile sig_atomic_t handled;

static void handle(int number)
{
    unsigned char bytes[16];
    (void)number;
    if (squall_fill(bytes, sizeof bytes) == SQUALL_OK)
        handled++;
}

static void *draw(void *out)
{
    uint64_t *own = out;
    for (int at = 0; at < NUMBERS; at += 2) {
        own[at] = squall_u64();
        if (squall_fill(&own[at + 1], sizeof *own) != SQUALL_OK)
            return NULL;
    }
    /* Waits until a signal has come, so that the handler has drawn. */
    while (handled == 0)
        (void)squall_u64();
    return out;
}

static int compare_numbers(const void *left, const void *right)
{
    const uint64_t *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

int main(void)
{
    pthread_t threads[THREADS];
    struct sigaction action = {.sa_handler = handle};
    const struct timespec pause = {.tv_nsec = 100000};
    uint64_t *all = &numbers[0][0];
    void *ended;
    int repeats = 0;

    if (sigaction(SIGUSR1, &action, NULL) != 0)
        return EXIT_FAILURE;
    for (int at = 0; at < THREADS; at++)
        if (pthread_create(&threads[at], NULL, draw, numbers[at]) != 0)
            return EXIT_FAILURE;
    for (int signals = 0; signals < 100; signals++) {
        for (int at = 0; at < THREADS; at++)
            pthread_kill(threads[at], SIGUSR1);
        nanosleep(&pause, NULL);
    }
    for (int at = 0; at < THREADS; at++)
        if (pthread_join(threads[at], &ended) != 0 || ended == NULL)
            return EXIT_FAILURE;
    qsort(all, THREADS * NUMBERS, sizeof *all, compare_numbers);
    for (int at = 1; at < THREADS * NUMBERS; at++)
        repeats += all[at] == all[at - 1];
    return repeats <= 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
