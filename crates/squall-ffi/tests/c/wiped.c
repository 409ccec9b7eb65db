/* Nothing of a stream is left in its memory once it was given back, looked at by a free(3) of this
 * program's own. With an argument, a stream is not given back but its memory looked at as it is. */

#include <squall.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern void __libc_free(void *place);

static const void *watched;
static unsigned char found[64];
static int was_freed;

/* The C library's, behind a look at the first bytes of one block. */
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
    static const unsigned char key[32] = "a key that is in the memory then";
    squall_stream *stream = squall_stream_new(key);
    int left = 0;

    (void)arguments;
    if (stream == NULL)
        return EXIT_FAILURE;
    watched = stream;
    if (count > 1)
        free(stream);
    else
        squall_stream_free(stream);
    for (size_t at = 0; at < sizeof found; at++)
        left += found[at] != 0;
    printf("%d %d\n", was_freed, left);
    return EXIT_SUCCESS;
}
