/* Prints session tokens and a password: cc tokens.c $(pkg-config --cflags --libs squall)
 *
 *   tokens [COUNT]
 */

#include <squall.h>

#include <stdio.h>
#include <stdlib.h>

/* 128 bits as hex. */
static int print_token(void)
{
    unsigned char bytes[16];
    int error = squall_fill(bytes, sizeof bytes);

    if (error != SQUALL_OK)
        return error;
    for (size_t at = 0; at < sizeof bytes; at++)
        printf("%02x", bytes[at]);
    putchar('\n');
    return SQUALL_OK;
}

/* Twenty characters of an alphabet of 31 without look-alikes: 99 bits. */
static void print_password(void)
{
    static const char characters[] = "abcdefghjkmnpqrstuvwxyz23456789";

    for (int at = 0; at < 20; at++) {
        if (at > 0 && at % 5 == 0)
            putchar('-');
        putchar(characters[squall_uniform(sizeof characters - 1)]);
    }
    putchar('\n');
}

int main(int count, char **arguments)
{
    unsigned long tokens = count > 1 ? strtoul(arguments[1], NULL, 10) : 3;

    while (tokens-- > 0) {
        int error = print_token();
        if (error != SQUALL_OK) {
            fprintf(stderr, "tokens: %s\n", squall_strerror(error));
            return EXIT_FAILURE;
        }
    }
    print_password();
    return EXIT_SUCCESS;
}
