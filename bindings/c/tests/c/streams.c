/* Reads lines "KEY OFFSET LENGTH", with the key in hex, and writes these bytes of the stream, which
 * the test compares with known answers. With an argument, checks the errors first. */

#include <squall.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);    \
            exit(EXIT_FAILURE);                                                \
        }                                                                      \
    } while (0)

static void write_bytes(const char *hex, uint64_t offset, size_t len)
{
    unsigned char key[32], *bytes = malloc(len);
    uint64_t position = 1;
    squall_stream *stream;

    CHECK(bytes != NULL && strlen(hex) == 64);
    for (size_t at = 0; at < sizeof key; at++) {
        unsigned int byte;
        CHECK(sscanf(hex + 2 * at, "%2x", &byte) == 1);
        key[at] = (unsigned char)byte;
    }
    stream = squall_stream_new(key);
    CHECK(stream != NULL);
    memset(key, 0, sizeof key);
    CHECK(squall_stream_position(stream, &position) == SQUALL_OK && position == 0);
    CHECK(squall_stream_seek(stream, offset) == SQUALL_OK);
    CHECK(squall_stream_position(stream, &position) == SQUALL_OK && position == offset);
    /* Two requests, the first of which rarely ends at the end of a block. */
    CHECK(squall_stream_fill(stream, bytes, len / 3) == SQUALL_OK);
    CHECK(squall_stream_fill(stream, bytes + len / 3, len - len / 3) == SQUALL_OK);
    if (squall_stream_position(stream, &position) == SQUALL_OK)
        CHECK(position == offset + len);
    else
        CHECK(offset + len == 0);
    CHECK(fwrite(bytes, 1, len, stdout) == len);
    squall_stream_free(stream);
    free(bytes);
}

static void check_errors(void)
{
    unsigned char key[32] = {0}, bytes[16] = {7};
    uint64_t position = 5;
    squall_stream *stream = squall_stream_new(key);

    CHECK(squall_stream_new(NULL) == NULL);
    squall_stream_free(NULL);
    CHECK(squall_stream_fill(NULL, bytes, 1) == SQUALL_E_NULL);
    CHECK(squall_stream_fill(NULL, NULL, 0) == SQUALL_E_NULL);
    CHECK(squall_stream_fill(stream, NULL, 0) == SQUALL_OK);
    CHECK(squall_stream_fill(stream, NULL, 1) == SQUALL_E_NULL);
    CHECK(squall_stream_fill(stream, bytes, SIZE_MAX) == SQUALL_E_LENGTH);
    CHECK(squall_stream_seek(NULL, 0) == SQUALL_E_NULL);
    CHECK(squall_stream_position(NULL, &position) == SQUALL_E_NULL);
    CHECK(squall_stream_position(stream, NULL) == SQUALL_E_NULL);
    CHECK(squall_stream_position(stream, &position) == SQUALL_OK && position == 0);

    /* Three bytes before the end, a request of four fails, and one of three succeeds. */
    CHECK(squall_stream_seek(stream, UINT64_MAX - 2) == SQUALL_OK);
    CHECK(squall_stream_fill(stream, bytes, 4) == SQUALL_E_END_OF_STREAM);
    CHECK(bytes[0] == 7 && bytes[1] == 0);
    CHECK(squall_stream_fill(stream, bytes, 3) == SQUALL_OK);
    position = 5;
    CHECK(squall_stream_position(stream, &position) == SQUALL_E_END_OF_STREAM);
    CHECK(position == 5);
    CHECK(squall_stream_fill(stream, bytes, 0) == SQUALL_OK);
    CHECK(squall_stream_fill(stream, bytes, 1) == SQUALL_E_END_OF_STREAM);
    CHECK(squall_stream_seek(stream, 0) == SQUALL_OK);
    CHECK(squall_stream_fill(stream, bytes, 1) == SQUALL_OK);
    squall_stream_free(stream);
}

int main(int count, char **arguments)
{
    char key[65];
    uint64_t offset;
    size_t len;

    (void)arguments;
    if (count > 1)
        check_errors();
    while (scanf("%64s %" SCNu64 " %zu", key, &offset, &len) == 3)
        write_bytes(key, offset, len);
    return EXIT_SUCCESS;
}
