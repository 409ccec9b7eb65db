/* Parent and child draw after a fork from the function named by the argument: "fill", "u64",
 * "uniform", "arc4random" or "stream". Their bytes are printed in hex, a line each. A stream is the
 * control: it continues with the same bytes in both. */

#define _POSIX_C_SOURCE 200809L

#include <squall.h>
#include <squall_arc4random.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

int main(int count, char **arguments)
{
    unsigned char own[32], childs[32];
    int pipes[2], status;
    pid_t child;

    if (count != 2 || squall_fill(own, sizeof own) != SQUALL_OK || pipe(pipes) != 0)
        return EXIT_FAILURE;
    stream = squall_stream_new(own);
    if (draw(arguments[1], own) != SQUALL_OK)
        return EXIT_FAILURE;
    child = fork();
    if (draw(arguments[1], own) != SQUALL_OK)
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
