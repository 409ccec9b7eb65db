/* Draws from the shared library or the archive. The first argument says what is done:
 *   counted         a request of each kind, and some that draw nothing
 *   counter         draws, switches the cycle counter off, and draws again; with another argument, squall is not told
 *   refused         prints what functions return, here where there is no source of randomness
 *   number          draws a number, which without a source of randomness ends the program
 *   threads         two threads draw at once while a signal handler in each draws as well, and compares the numbers
 *   stack           makes a stream, and prints how many copies of its key are on the stack below main; with another
 *                   argument, a function leaves a copy there
 *   fork FUNCTION   parent and child draw after a fork from fill, u64, uniform, arc4random or a stream. Their bytes are
 *                   printed in hex, a line each. A stream continues with the same bytes in both */

#define _POSIX_C_SOURCE 200809L

#include <squall.h>
#include <squall_arc4random.h>

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int counted(void)
{
    unsigned char bytes[200];
    const int drawn = squall_fill(bytes, 100) == SQUALL_OK &&
                      squall_fill_fresh(bytes, 200) == SQUALL_OK;

    (void)squall_u32();
    (void)squall_u64();
    (void)squall_uniform(2);
    (void)squall_uniform(1);
    return drawn && squall_fill(NULL, 1) == SQUALL_E_NULL ? EXIT_SUCCESS : EXIT_FAILURE;
}

static void draw_often(void)
{
    for (int draw = 0; draw < 5000; draw++)
        (void)squall_u64();
}

static int without_counter(int is_told)
{
    draw_often();
    if (is_told)
        squall_avoid_cycle_counter();
    (void)prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
    draw_often();
    return EXIT_SUCCESS;
}

static int refused(void)
{
    char bytes[4096];

    printf("%d %d %d\n", squall_fill(bytes, 16), squall_fill_fresh(bytes, 16),
           squall_status_json(bytes, sizeof bytes));
    return EXIT_SUCCESS;
}

enum { THREADS = 2, NUMBERS = 200000 };

static uint64_t numbers[THREADS][NUMBERS];
static __thread volatile sig_atomic_t handled;

static void handle(int number)
{
    unsigned char bytes[16];
    (void)number;
    if (squall_fill(bytes, sizeof bytes) == SQUALL_OK)
        handled++;
}

static void *draw_numbers(void *out)
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

/* At most one of the numbers may come twice: by chance one does in 2^-28 of runs, and two do in 2^-57. */
static int draw_in_threads(void)
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
        if (pthread_create(&threads[at], NULL, draw_numbers, numbers[at]) != 0)
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

enum { LENGTH = 32, DEPTH = 32768, MASK = 0x5a };

/* The key XORed with a mask, so that the search does not find its own copy. */
static unsigned char masked[LENGTH];

static __attribute__((noinline)) unsigned leave_copy(const unsigned char *key)
{
    /* Longer than the frame of the function that searches. */
    volatile unsigned char copy[16 * LENGTH];

    for (size_t at = 0; at < LENGTH; at++)
        copy[at] = key[at];
    return copy[0];
}

static __attribute__((noinline)) int count_copies(void)
{
    uintptr_t top = (uintptr_t)__builtin_frame_address(0);
    int found = 0;

    for (uintptr_t address = top - DEPTH; address < top - LENGTH; address++) {
        const volatile unsigned char *bytes = (const volatile unsigned char *)address;
        size_t equal = 0;

        while (equal < LENGTH && bytes[equal] == (unsigned char)(masked[equal] ^ MASK))
            equal++;
        found += equal == LENGTH;
    }
    return found;
}

static int search_stack(int is_control)
{
    unsigned char *key = malloc(LENGTH);
    squall_stream *made;
    int found;

    if (key == NULL || squall_fill(masked, LENGTH) != SQUALL_OK)
        return EXIT_FAILURE;
    for (size_t at = 0; at < LENGTH; at++)
        key[at] = masked[at] ^ MASK;
    made = squall_stream_new(key);
    /* The search comes at once: the first call of a function in a library resolves its symbol, which saves vector
     * registers to the stack, over the copy. */
    if (is_control)
        (void)leave_copy(key);
    found = count_copies();
    printf("%d\n", found);
    squall_stream_free(made);
    free(key);
    return EXIT_SUCCESS;
}

static squall_stream *stream;

static int draw(const char *from, unsigned char out[32])
{
    if (strcmp(from, "fill") == 0)
        return squall_fill(out, 32);
    if (strcmp(from, "stream") == 0)
        return squall_stream_fill(stream, out, 32);
    for (int at = 0; at < 32; at += 8) {
        uint64_t number = squall_u64();
        if (strcmp(from, "uniform") == 0)
            number = squall_uniform(UINT64_MAX);
        if (strcmp(from, "arc4random") == 0)
            number = (uint64_t)arc4random() << 32 | arc4random();
        memcpy(out + at, &number, sizeof number);
    }
    return SQUALL_OK;
}

static void print(const unsigned char bytes[32])
{
    for (int at = 0; at < 32; at++)
        printf("%02x", bytes[at]);
    puts("");
}

static int draw_around_fork(const char *from)
{
    unsigned char own[32], childs[32];
    int pipes[2], status;
    pid_t child;

    if (squall_fill(own, sizeof own) != SQUALL_OK || pipe(pipes) != 0)
        return EXIT_FAILURE;
    stream = squall_stream_new(own);
    if (draw(from, own) != SQUALL_OK)
        return EXIT_FAILURE;
    child = fork();
    if (draw(from, own) != SQUALL_OK)
        _exit(EXIT_FAILURE);
    if (child == 0)
        _exit(write(pipes[1], own, sizeof own) == sizeof own ? EXIT_SUCCESS : EXIT_FAILURE);
    if (waitpid(child, &status, 0) != child || status != 0)
        return EXIT_FAILURE;
    if (read(pipes[0], childs, sizeof childs) != sizeof childs)
        return EXIT_FAILURE;
    print(own);
    print(childs);
    squall_stream_free(stream);
    return EXIT_SUCCESS;
}

int main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "";

    if (strcmp(what, "counted") == 0)
        return counted();
    if (strcmp(what, "counter") == 0)
        return without_counter(count == 2);
    if (strcmp(what, "refused") == 0)
        return refused();
    if (strcmp(what, "number") == 0)
        return printf("%u\n", (unsigned int)squall_u32()) < 0;
    if (strcmp(what, "threads") == 0)
        return draw_in_threads();
    if (strcmp(what, "stack") == 0)
        return search_stack(count > 2);
    return count == 3 ? draw_around_fork(arguments[2]) : EXIT_FAILURE;
}
