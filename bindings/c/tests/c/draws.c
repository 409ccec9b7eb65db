/* Draws from the shared library or the archive. The first argument says what is done:
 *   counted         a request of each kind, and some that draw nothing
 *   counter         draws, switches the cycle counter off, and draws again; with another argument, squall is not told
 *   refused         prints what functions return, here where there is no source of randomness
 *   number          draws a number, which without a source of randomness ends the program
 *   fork FUNCTION   parent and child draw after a fork from fill, u64, uniform, arc4random or a stream. Their bytes are
 *                   printed in hex, a line each. A stream continues with the same bytes in both */

#define _POSIX_C_SOURCE 200809L

#include <squall.h>
#include <squall_arc4random.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
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
    return count == 3 ? draw_around_fork(arguments[2]) : EXIT_FAILURE;
}
