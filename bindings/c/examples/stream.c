/* Writes part of a reproducible stream, as `squall stream --seed` does:
 * cc stream.c $(pkg-config --cflags --libs squall)
 *
 *   stream KEY OFFSET LENGTH      the key as 64 hex digits
 */

#include <squall.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int read_key(const char *hex, unsigned char key[32])
{
    if (strlen(hex) != 64 || strspn(hex, "0123456789abcdefABCDEF") != 64)
        return -1;
    for (int at = 0; at < 32; at++) {
        const char digits[3] = {hex[2 * at], hex[2 * at + 1], '\0'};
        key[at] = (unsigned char)strtoul(digits, NULL, 16);
    }
    return 0;
}

static int write_stream(squall_stream *stream, unsigned long long len)
{
    static unsigned char block[65536];

    while (len > 0) {
        size_t part = len < sizeof block ? (size_t)len : sizeof block;
        int error = squall_stream_fill(stream, block, part);
        if (error != SQUALL_OK)
            return error;
        if (fwrite(block, 1, part, stdout) != part)
            exit(EXIT_FAILURE);
        len -= part;
    }
    return SQUALL_OK;
}

int main(int count, char **arguments)
{
    unsigned char key[32];
    squall_stream *stream;
    int error;

    if (count != 4 || read_key(arguments[1], key) != 0) {
        fprintf(stderr, "usage: stream KEY OFFSET LENGTH, the key as 64 hex digits\n");
        return 2;
    }
    stream = squall_stream_new(key);
    if (stream == NULL)
        return EXIT_FAILURE;
    squall_stream_seek(stream, strtoull(arguments[2], NULL, 10));
    error = write_stream(stream, strtoull(arguments[3], NULL, 10));
    squall_stream_free(stream);
    if (error != SQUALL_OK)
        fprintf(stderr, "stream: %s\n", squall_strerror(error));
    return error == SQUALL_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
