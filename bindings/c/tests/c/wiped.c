/* Searches the memory of a freed stream for its key, with a malloc(3) and a free(3) of this program's
 * own. With an argument, the program searches the memory while the stream is in use. */

#define _GNU_SOURCE /* memmem */
#include <squall.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t size);
extern void __libc_free(void *block);

/* As long as the fifteen round keys of AES-256, of which the first two are the key. */
enum { ROUND_KEYS = 240, HALF = 16 };

static int is_making;
static void *watched;
static unsigned char contents[ROUND_KEYS + HALF];
static int was_freed;

/* Allocates, and remembers the block in which a new stream puts its round keys. */
void *malloc(size_t size)
{
    void *block = __libc_malloc(size);

    if (is_making && size >= sizeof contents)
        watched = block;
    return block;
}

/* Copies the remembered block, then frees. */
void free(void *block)
{
    if (block != NULL && block == watched) {
        memcpy(contents, block, sizeof contents);
        was_freed = 1;
    }
    __libc_free(block);
}

int main(int count, char **arguments)
{
    static const unsigned char key[2 * HALF] = "a key that is in the memory now";
    squall_stream *stream;
    int halves_left = 0;

    (void)arguments;
    is_making = 1;
    stream = squall_stream_new(key);
    is_making = 0;
    if (stream == NULL || watched == NULL)
        return EXIT_FAILURE;
    if (count > 1)
        free(watched);
    else
        squall_stream_free(stream);
    for (int half = 0; half < 2; half++)
        halves_left += memmem(contents, sizeof contents, key + half * HALF, HALF) != NULL;
    printf("%d %d\n", was_freed, halves_left);
    return EXIT_SUCCESS;
}
