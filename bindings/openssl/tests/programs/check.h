/* A check that prints a failed condition, its place and OpenSSL's errors, and ends the program; and what
 * the programs have in common. */
#ifndef CHECK_H
#define CHECK_H

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                      \
    do {                                                                      \
        if (!(condition)) {                                                   \
            fprintf(stderr, "%s:%d: check failed: %s\n", __FILE__, __LINE__,        \
                    #condition);                                              \
            ERR_print_errors_fp(stderr);                                      \
            exit(1);                                                          \
        }                                                                     \
    } while (0)

/* Checks that the oldest error in the queue has this reason of OpenSSL's providers, and empties it. */
#define CHECK_REASON(wanted)                                                  \
    do {                                                                      \
        unsigned long error = ERR_get_error();                                \
        CHECK(ERR_GET_LIB(error) == ERR_LIB_PROV);                            \
        CHECK(ERR_GET_REASON(error) == (wanted));                             \
        ERR_clear_error();                                                    \
    } while (0)

/* A parameter of a generator. */
static inline unsigned int number(EVP_RAND_CTX *generator, const char *name)
{
    unsigned int value = 12345;
    OSSL_PARAM params[] = { OSSL_PARAM_construct_uint(name, &value), OSSL_PARAM_END };

    CHECK(EVP_RAND_CTX_get_params(generator, params));
    CHECK(OSSL_PARAM_modified(params));
    return value;
}

static inline void print_hex(const unsigned char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        printf("%02x", bytes[i]);
    printf("\n");
}

#endif
