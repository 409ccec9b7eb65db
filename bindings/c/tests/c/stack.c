/* Counts the copies of a stream's key on the stack below main after the stream was made. The program
 * keeps the key XORed with a mask, so that the search finds only count_copies. With an argument, a function
 * leaves a copy there. */

#include <squall.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 32, DEPTH = 32768, MASK = 0x5a };

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

int main(int count, char **arguments)
{
    unsigned char *key = malloc(LENGTH);
    squall_stream *stream;
    int found;

    (void)arguments;
    if (key == NULL || squall_fill(masked, LENGTH) != SQUALL_OK)
        return EXIT_FAILURE;
    for (size_t at = 0; at < LENGTH; at++)
        key[at] = masked[at] ^ MASK;
    stream = squall_stream_new(key);
    /* The search comes at once: the first call of a function in a library resolves its symbol, which saves
     * vector registers to the stack, over the copy. */
    if (count > 1)
        (void)leave_copy(key);
    found = count_copies();
    printf("%d\n", found);
    squall_stream_free(stream);
    free(key);
    return EXIT_SUCCESS;
}
