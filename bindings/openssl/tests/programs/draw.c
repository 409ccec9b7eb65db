/* Draws by all of RAND's functions with the configured generators, and prints the generators' names. */
#include "check.h"
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <string.h>

#define LEN 5000

static const char *name(EVP_RAND_CTX *generator)
{
    CHECK(generator != NULL);
    CHECK(EVP_RAND_get_state(generator) == EVP_RAND_STATE_READY);
    return EVP_RAND_get0_name(EVP_RAND_CTX_get0_rand(generator));
}

int main(void)
{
    static unsigned char bytes[6][LEN];
    static const unsigned char zeros[16];

    CHECK(RAND_status() == 1);
    printf("%s %s %s\n", name(RAND_get0_primary(NULL)),
           name(RAND_get0_public(NULL)), name(RAND_get0_private(NULL)));

    CHECK(RAND_bytes(bytes[0], LEN) == 1);
    CHECK(RAND_priv_bytes(bytes[1], LEN) == 1);
    CHECK(RAND_bytes_ex(NULL, bytes[2], LEN, 256) == 1);
    CHECK(RAND_priv_bytes_ex(NULL, bytes[3], LEN, 128) == 1);
    CHECK(RAND_bytes(bytes[0], 0) == 1);
    CHECK(RAND_poll() == 1);
    RAND_add("a dog", 5, 0.0);
    RAND_seed("a cat", 5);
    CHECK(RAND_bytes(bytes[4], LEN) == 1);
    CHECK(RAND_bytes(bytes[5], LEN) == 1);
    for (int i = 0; i < 6; i++) {
        for (int at = 0; at + 16 <= LEN; at += 16)
            CHECK(memcmp(bytes[i] + at, zeros, 16) != 0);
        for (int j = 0; j < i; j++)
            CHECK(memcmp(bytes[i], bytes[j], 16) != 0);
    }

    CHECK(RAND_bytes_ex(NULL, bytes[0], 16, 257) <= 0);
    return 0;
}
