/* Enters a sandbox that refuses every source of randomness. With `late` it enters after a first draw:
 * plain requests still succeed, but fresh ones fail. With `early` it enters before. Arguments: the
 * folder of squall.so, and `late` or `early`. Ends with KERNEL_RESEEDED if it is to be run again. */
#include "check.h"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/proverr.h>
#include <openssl/provider.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define REFUSE(number)                                                        \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),                        \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)

static void refuse_randomness(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        REFUSE(SYS_getrandom),
        REFUSE(SYS_openat),
#ifdef SYS_open
        REFUSE(SYS_open),
#endif
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { sizeof(filter) / sizeof(*filter), filter };

    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static EVP_RAND_CTX *create(OSSL_LIB_CTX *library, const char *name, EVP_RAND_CTX *parent)
{
    EVP_RAND *rand = EVP_RAND_fetch(library, name, NULL);
    EVP_RAND_CTX *generator;

    CHECK(rand != NULL);
    generator = EVP_RAND_CTX_new(rand, parent);
    EVP_RAND_free(rand);
    CHECK(generator != NULL);
    return generator;
}

/* The kernel reseeds its RNG once a minute. Then a plain request needs bytes that the sandbox refuses. */
#define KERNEL_RESEEDED 77

/* Makes a plain request in the sandbox, after one under `epoch`. */
static void draw_in_sandbox(EVP_RAND_CTX *generator, unsigned int epoch)
{
    unsigned char bytes[32];
    int is_drawn = EVP_RAND_generate(generator, bytes, sizeof(bytes), 0, 0, NULL, 0);

    if (!is_drawn && number(generator, OSSL_DRBG_PARAM_RESEED_COUNTER) != epoch)
        exit(KERNEL_RESEEDED);
    CHECK(is_drawn);
}

int main(int argc, char **argv)
{
    unsigned char bytes[32];
    unsigned int epoch;
    OSSL_LIB_CTX *library = OSSL_LIB_CTX_new();
    EVP_RAND_CTX *generator, *child;
    OSSL_PARAM ctr[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_DRBG_PARAM_CIPHER, "AES-256-CTR", 0),
        OSSL_PARAM_END
    };

    CHECK(argc == 3 && library != NULL);
    CHECK(OSSL_PROVIDER_set_default_search_path(library, argv[1]));
    CHECK(OSSL_PROVIDER_load(library, "squall") && OSSL_PROVIDER_load(library, "default"));
    generator = create(library, "SQUALL", NULL);
    child = create(library, "CTR-DRBG", generator);
    if (strcmp(argv[2], "early") == 0) {
        refuse_randomness();
        CHECK(!EVP_RAND_instantiate(generator, 0, 0, NULL, 0, NULL));
        CHECK_REASON(PROV_R_ERROR_RETRIEVING_ENTROPY);
        CHECK(EVP_RAND_get_state(generator) == EVP_RAND_STATE_UNINITIALISED);
        return 0;
    }
    CHECK(EVP_RAND_instantiate(generator, 0, 0, NULL, 0, NULL));
    epoch = number(generator, OSSL_DRBG_PARAM_RESEED_COUNTER);
    CHECK(EVP_RAND_generate(generator, bytes, sizeof(bytes), 0, 0, NULL, 0));
    CHECK(EVP_RAND_instantiate(child, 0, 0, NULL, 0, ctr));
    refuse_randomness();
    draw_in_sandbox(generator, epoch);
    CHECK(!EVP_RAND_generate(generator, bytes, sizeof(bytes), 0, 1, NULL, 0));
    CHECK_REASON(PROV_R_ERROR_RETRIEVING_ENTROPY);
    CHECK(!EVP_RAND_reseed(generator, 0, NULL, 0, NULL, 0));
    CHECK_REASON(PROV_R_ERROR_RETRIEVING_ENTROPY);
    CHECK(!EVP_RAND_reseed(child, 0, NULL, 0, NULL, 0));
    CHECK_REASON(PROV_R_ERROR_RETRIEVING_ENTROPY);
    draw_in_sandbox(generator, epoch);
    return 0;
}
