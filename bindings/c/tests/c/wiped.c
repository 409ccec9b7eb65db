/* Nothing of a stream's key is left in its memory once the stream was given back, looked at by a
 * malloc(3) and a free(3) of this program's own. With an argument, the memory is looked at while the
 * stream is in use. */

#define _GNU_SOURCE /* memmem */
#include <squall.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void *__libc_malloc(size_t size);
extern void __libc_free(void *place);

/* As long as the fifteen round keys of AES-256, of which the first two are the key. */
enum { ROUND_KEYS = 240, HALF = 16 };

static int is_making;
static void *watched;
static unsigned char found[ROUND_KEYS + HALF];
static int was_freed;

/* The C library's, with an eye on where a stream being made puts its round keys. */
void *malloc(size_t size)
{
    void *place = __libc_malloc(size);

    if (is_making && size >= sizeof found)
        watched = place;
    return place;
}

/* The C library's, behind a look at that block. */
void free(void *place)
{
    if (place != NULL && place == watched) {
        memcpy(found, place, sizeof found);
        was_freed = 1;
    }
    __libc_free(place);
}

int main(int count, char **arguments)
{
    static const unsigned char key[2 * HALF] = "a key that is in the memory now";
    squall_stream *stream;
    int left = 0;

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
        left += memmem(found, sizeof found, key + half * HALF, HALF) != NULL;
    printf("%d %d\n", was_freed, left);
    return EXIT_SUCCESS;
}
