/* A check that says what failed and where, with OpenSSL's errors, and ends the program. */
#ifndef CHECK_H
#define CHECK_H

#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                      \
    do {                                                                      \
        if (!(condition)) {                                                   \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__,        \
                    #condition);                                              \
            ERR_print_errors_fp(stderr);                                      \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

/* The oldest error in the queue is this reason of OpenSSL's providers; the queue is emptied. */
#define CHECK_REASON(wanted)                                                  \
    do {                                                                      \
        unsigned long error = ERR_get_error();                                \
        CHECK(ERR_GET_LIB(error) == ERR_LIB_PROV);                            \
        CHECK(ERR_GET_REASON(error) == (wanted));                             \
        ERR_clear_error();                                                    \
    } while (0)

static inline void print_hex(const unsigned char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        printf("%02x", bytes[i]);
    printf("\n");
}

#endif
