/* How often a stream's key stands on the stack below main after the stream was made: its bytes are
 * kept masked, so that only copies are found. With an argument, a function leaves one there. */

#include <squall.h>

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 32, DEPTH = 32768, MASK = 0x5a };

static unsigned char masked[LENGTH];

static __attribute__((noinline)) unsigned leave(const unsigned char *key)
{
    /* Longer than the frame of the function that searches. */
    volatile unsigned char copy[16 * LENGTH];

    for (size_t at = 0; at < LENGTH; at++)
        copy[at] = key[at];
    return copy[0];
}

static __attribute__((noinline)) int copies(void)
{
    uintptr_t top = (uintptr_t)__builtin_frame_address(0);
    int found = 0;

    for (uintptr_t place = top - DEPTH; place < top - LENGTH; place++) {
        const volatile unsigned char *bytes = (const volatile unsigned char *)place;
        size_t same = 0;

        while (same < LENGTH && bytes[same] == (unsigned char)(masked[same] ^ MASK))
            same++;
        found += same == LENGTH;
    }
    return found;
}

int main(int count, char **arguments)
{
    unsigned char *key = malloc(LENGTH);
    squall_stream *stream;

    (void)arguments;
    if (key == NULL || squall_fill(masked, LENGTH) != SQUALL_OK)
        return EXIT_FAILURE;
    for (size_t at = 0; at < LENGTH; at++)
        key[at] = masked[at] ^ MASK;
    stream = squall_stream_new(key);
    if (count > 1)
        printf("%s", leave(key) > UCHAR_MAX ? "!" : "");
    printf("%d\n", copies());
    squall_stream_free(stream);
    free(key);
    return EXIT_SUCCESS;
}
