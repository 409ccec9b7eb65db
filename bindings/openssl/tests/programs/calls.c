/* Prints the answers to calls of RAND and EVP_RAND in states that programs seldom reach, one a line,
 * with the reason of the first error. The test compares a process with OpenSSL's own generators and one with squall's. */
#include "check.h"
#include <openssl/rand.h>

#define SHOW(call)                                                            \
    do {                                                                      \
        ERR_clear_error();                                                    \
        printf("%s: %d", #call, (int)(call));                                 \
        printf(" (%d)\n", ERR_GET_REASON(ERR_peek_error()));                  \
    } while (0)

static unsigned char bytes[64];

static void show_calls(EVP_RAND_CTX *generator)
{
    SHOW(EVP_RAND_get_state(generator));
    SHOW(EVP_RAND_get_strength(generator));
    SHOW(EVP_RAND_verify_zeroization(generator));
    SHOW(EVP_RAND_instantiate(generator, 0, 0, NULL, 0, NULL));
    SHOW(EVP_RAND_instantiate(generator, 256, 1, bytes, 9, NULL));
    SHOW(EVP_RAND_instantiate(generator, 257, 0, NULL, 0, NULL));
    SHOW(EVP_RAND_get_state(generator));
    SHOW(EVP_RAND_generate(generator, bytes, 64, 0, 0, NULL, 0));
    SHOW(EVP_RAND_generate(generator, bytes, 64, 256, 1, bytes, 9));
    SHOW(EVP_RAND_generate(generator, bytes, 64, 257, 0, NULL, 0));
    SHOW(EVP_RAND_generate(generator, bytes, 0, 0, 0, NULL, 0));
    SHOW(EVP_RAND_reseed(generator, 0, NULL, 0, NULL, 0));
    SHOW(EVP_RAND_reseed(generator, 1, bytes, 64, bytes, 9));
    SHOW(EVP_RAND_uninstantiate(generator));
    SHOW(EVP_RAND_get_state(generator));
    SHOW(EVP_RAND_verify_zeroization(generator));
    SHOW(EVP_RAND_uninstantiate(generator));
    SHOW(EVP_RAND_generate(generator, bytes, 64, 0, 0, NULL, 0));
    SHOW(EVP_RAND_get_state(generator));
    SHOW(EVP_RAND_uninstantiate(generator));
    SHOW(EVP_RAND_generate(generator, bytes, 64, 257, 0, NULL, 0));
    SHOW(EVP_RAND_get_state(generator));
    SHOW(EVP_RAND_uninstantiate(generator));
    SHOW(EVP_RAND_reseed(generator, 0, NULL, 0, NULL, 0));
    SHOW(EVP_RAND_get_state(generator));
    SHOW(EVP_RAND_uninstantiate(generator));
    SHOW(EVP_RAND_instantiate(generator, 257, 0, NULL, 0, NULL));
    SHOW(EVP_RAND_get_state(generator));
    SHOW(EVP_RAND_uninstantiate(generator));
    SHOW(EVP_RAND_nonce(generator, bytes, 16));
    SHOW(EVP_RAND_get_state(generator));
    SHOW(EVP_RAND_enable_locking(generator));
}

static void show_rand(void)
{
    SHOW(RAND_status());
    SHOW(RAND_bytes(bytes, 64));
    SHOW(RAND_priv_bytes(bytes, 64));
    SHOW(RAND_bytes(bytes, 0));
    SHOW(RAND_bytes(bytes, -1));
    SHOW(RAND_poll());
    SHOW(RAND_status());
}

int main(void)
{
    EVP_RAND_CTX *primary = RAND_get0_primary(NULL);
    EVP_RAND_CTX *public = RAND_get0_public(NULL), *private = RAND_get0_private(NULL);

    CHECK(primary != NULL && public != NULL && private != NULL);
    show_rand();
    SHOW(EVP_RAND_uninstantiate(public) + EVP_RAND_uninstantiate(private));
    show_rand();
    show_calls(public);
    show_rand();
    show_calls(private);
    show_rand();
    SHOW(EVP_RAND_uninstantiate(primary));
    SHOW(RAND_status());
    SHOW(RAND_poll());
    SHOW(RAND_status());
    SHOW(EVP_RAND_uninstantiate(primary));
    SHOW(EVP_RAND_uninstantiate(public));
    show_rand();
    show_calls(primary);
    show_rand();
    return 0;
}
