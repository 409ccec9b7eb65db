/* Checks the results and the errors of every function. With an argument, reads lines "KEY OFFSET LENGTH", with the key in
 * hex, and writes these bytes of the stream, which the test compares with known answers. */

#include <squall.h>
#include <squall_arc4random.h>

#include <errno.h>
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

/* Whether 64 calls changed each of the `len` bytes from 0, and no byte before or after them. */
static int fills_exactly(int (*fill)(void *, size_t), size_t len)
{
    static unsigned char space[70000 + 64], seen[70000 + 64];
    memset(seen, 0, sizeof seen);
    for (int call = 0; call < 64; call++) {
        memset(space, 0, len + 64);
        if (fill(space + 32, len) != SQUALL_OK)
            return 0;
        for (size_t at = 0; at < len + 64; at++)
            seen[at] |= space[at];
    }
    for (size_t at = 0; at < len + 64; at++)
        if ((seen[at] != 0) != (at >= 32 && at < len + 32))
            return 0;
    return 1;
}

static void check_fill(int (*fill)(void *, size_t))
{
    static const size_t lens[] = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 255, 256, 257, 4096, 70000};
    char byte = 1;

    for (size_t at = 0; at < sizeof lens / sizeof *lens; at++)
        CHECK(fills_exactly(fill, lens[at]));
    CHECK(fill(NULL, 0) == SQUALL_OK);
    CHECK(fill(NULL, 1) == SQUALL_E_NULL);
    CHECK(fill(&byte, (size_t)PTRDIFF_MAX + 1) == SQUALL_E_LENGTH);
    CHECK(fill(&byte, SIZE_MAX) == SQUALL_E_LENGTH);
    CHECK(fill(NULL, SIZE_MAX) == SQUALL_E_LENGTH);
    CHECK(byte == 1);
}

/* Every bit takes both values. */
static void check_numbers(void)
{
    uint64_t any = 0, all = UINT64_MAX;
    for (int call = 0; call < 128; call++) {
        uint64_t number = (uint64_t)squall_u32() << 32 | (squall_u32() ^ arc4random());
        any |= number ^ squall_u64();
        all &= number ^ squall_u64();
    }
    CHECK(any == UINT64_MAX);
    CHECK(all == 0);
}

/* Rolls a die 60,000 times and expects each of six sides 10,000 times: the chi-squared sum has 5
 * degrees of freedom, and exceeds 75 once in 10^14. */
static void check_die(uint64_t (*side)(void))
{
    double counts[6] = {0}, squares = 0;
    for (int roll = 0; roll < 60000; roll++) {
        uint64_t number = side();
        CHECK(number < 6);
        counts[number]++;
    }
    for (int at = 0; at < 6; at++)
        squares += (counts[at] - 10000) * (counts[at] - 10000) / 10000;
    CHECK(squares < 75);
}

static uint64_t die(void)
{
    return squall_uniform(6);
}

static uint64_t arc4random_die(void)
{
    return arc4random_uniform(6);
}

static void check_bounds(void)
{
    uint64_t largest = 0;
    for (int call = 0; call < 64; call++) {
        CHECK(squall_uniform(0) == 0);
        CHECK(squall_uniform(1) == 0);
        CHECK(arc4random_uniform(0) == 0);
        CHECK(squall_uniform(2) < 2);
        largest |= squall_uniform(UINT64_MAX);
        CHECK(squall_uniform((UINT64_C(1) << 63) + 1) <= UINT64_C(1) << 63);
    }
    CHECK(largest > UINT64_MAX >> 8);
    check_die(die);
    check_die(arc4random_die);
}

static int fill_as_arc4random(void *buf, size_t len)
{
    arc4random_buf(buf, len);
    return SQUALL_OK;
}

/* Like snprintf(3): returns the whole length, and writes no byte beyond the given one. */
static void check_status(void)
{
    char whole[4096], part[4096];
    int len = squall_status_json(whole, sizeof whole);

    CHECK(len > 0 && len < 2048);
    CHECK(strlen(whole) == (size_t)len);
    CHECK(whole[0] == '{' && whole[len - 1] == '}');
    for (size_t space = 1; space <= 64; space++) {
        memset(part, 1, sizeof part);
        CHECK(squall_status_json(part, space) > 64);
        CHECK(strlen(part) == space - 1 && part[space] == 1);
        CHECK(memcmp(part, whole, space - 1) == 0);
    }
    CHECK(squall_status_json(NULL, 0) > 0);
    CHECK(squall_status_json(NULL, 1) == SQUALL_E_NULL);
    CHECK(squall_status_json(part, SIZE_MAX) == SQUALL_E_LENGTH);
    puts(whole);
}

/* The codes have the values of the first release. */
static void check_errors(void)
{
    CHECK(SQUALL_OK == 0 && SQUALL_E_NULL == -1 && SQUALL_E_NO_ENTROPY == -2);
    CHECK(SQUALL_E_END_OF_STREAM == -3 && SQUALL_E_LENGTH == -4);
    for (int code = SQUALL_E_LENGTH; code <= SQUALL_OK; code++)
        for (int other = SQUALL_E_LENGTH - 1; other < code; other++)
            CHECK(strcmp(squall_strerror(code), squall_strerror(other)) != 0);
    CHECK(strcmp(squall_strerror(1), squall_strerror(INT32_MIN)) == 0);
    puts(squall_version());
}

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

static void check_streams(void)
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

static void write_streams(void)
{
    char key[65];
    uint64_t offset;
    size_t len;

    while (scanf("%64s %" SCNu64 " %zu", key, &offset, &len) == 3)
        write_bytes(key, offset, len);
}

static void check_clones(void)
{
    const char *signal = squall_clone_signal();
    squall_clone_watch *watch = squall_clone_watch_new();

    CHECK((squall_clone_generation() == 0) == (signal == NULL));
    if (signal == NULL) {
        CHECK(watch == NULL && errno == ENOTSUP);
    } else {
        CHECK(strlen(signal) > 0);
        CHECK(squall_clone_fd(watch) >= 0);
        CHECK(squall_clone_wait(watch, 0) == 0);
        CHECK(squall_clone_wait(watch, 1) == 0);
    }
    squall_clone_watch_free(watch);
    squall_clone_watch_free(NULL);
    CHECK(squall_clone_fd(NULL) == -1);
    errno = 0;
    CHECK(squall_clone_wait(NULL, 0) == -1 && errno == EFAULT);
}

int main(int count, char **arguments)
{
    (void)arguments;
    if (count > 1) {
        write_streams();
        return EXIT_SUCCESS;
    }
    check_fill(squall_fill);
    check_fill(squall_fill_fresh);
    CHECK(fills_exactly(fill_as_arc4random, 0));
    CHECK(fills_exactly(fill_as_arc4random, 257));
    check_numbers();
    check_bounds();
    check_streams();
    check_clones();
    check_status();
    check_errors();
    return EXIT_SUCCESS;
}
