/* The generator SQUALL through EVP_RAND, in a library context of its own. Arguments: the folder of squall.so, and
 *   life    its life cycle, its parameters, and its use as the parent of OpenSSL's generators
 *   unload  threads draw, the provider is unloaded, and only then the threads end
 *   late    enters a sandbox that refuses every source of randomness, after a first draw: plain requests still
 *           succeed, but fresh ones fail. Ends with KERNEL_RESEEDED if it is to be run again
 *   early   enters it before */
#include "check.h"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <openssl/core_names.h>
#include <openssl/proverr.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

static const char *folder;
static OSSL_LIB_CTX *library;
static OSSL_PROVIDER *squall;

/* Makes a library context with the provider. */
static void load(void)
{
    CHECK((library = OSSL_LIB_CTX_new()) != NULL);
    CHECK(OSSL_PROVIDER_set_default_search_path(library, folder));
    CHECK((squall = OSSL_PROVIDER_load(library, "squall")) != NULL);
}

static EVP_RAND_CTX *create(const char *name, EVP_RAND_CTX *parent)
{
    EVP_RAND *rand = EVP_RAND_fetch(library, name, NULL);
    EVP_RAND_CTX *generator;

    CHECK(rand != NULL);
    generator = EVP_RAND_CTX_new(rand, parent);
    EVP_RAND_free(rand);
    CHECK(generator != NULL);
    return generator;
}

static void check_provider_parameters(OSSL_PROVIDER *provider)
{
    const char *name = NULL, *version = NULL, *build = NULL;
    int status = 0;
    OSSL_PARAM params[] = {
        OSSL_PARAM_construct_utf8_ptr(OSSL_PROV_PARAM_NAME, (char **)&name, 0),
        OSSL_PARAM_construct_utf8_ptr(OSSL_PROV_PARAM_VERSION, (char **)&version, 0),
        OSSL_PARAM_construct_utf8_ptr(OSSL_PROV_PARAM_BUILDINFO, (char **)&build, 0),
        OSSL_PARAM_construct_int(OSSL_PROV_PARAM_STATUS, &status),
        OSSL_PARAM_END
    };

    CHECK(OSSL_PROVIDER_get_params(provider, params));
    CHECK(strcmp(name, "squall") == 0 && strlen(version) >= 5);
    CHECK(strncmp(build, "squall ", 7) == 0 && status == 1);
    for (const OSSL_PARAM *param = params; param->key != NULL; param++)
        CHECK(OSSL_PARAM_locate_const(OSSL_PROVIDER_gettable_params(provider), param->key));
}

static void check_fetching(void)
{
    static const char *const found[] = { "provider=squall", "provider!=default", "" };
    EVP_RAND *rand;

    for (size_t i = 0; i < 3; i++) {
        CHECK((rand = EVP_RAND_fetch(library, "squall", found[i])) != NULL);
        CHECK(EVP_RAND_is_a(rand, "SQUALL"));
        EVP_RAND_free(rand);
    }
    CHECK(EVP_RAND_fetch(library, "SQUALL", "provider=default") == NULL);
    CHECK(EVP_RAND_fetch(library, "SQUALL", "fips=yes") == NULL);
    CHECK(EVP_RAND_fetch(library, "CTR-DRBG", "provider=squall") == NULL);
    ERR_clear_error();
}

static void check_generator_parameters(void)
{
    EVP_RAND_CTX *generator = create("SQUALL", NULL);
    const OSSL_PARAM *known = EVP_RAND_CTX_gettable_params(generator);
    size_t max_request = 0;
    time_t before, seeded = 0;
    int state = -1;
    unsigned int unknown = 12345;
    OSSL_PARAM asked[] = {
        OSSL_PARAM_construct_size_t(OSSL_RAND_PARAM_MAX_REQUEST, &max_request),
        OSSL_PARAM_construct_time_t(OSSL_DRBG_PARAM_RESEED_TIME, &seeded),
        OSSL_PARAM_construct_int(OSSL_RAND_PARAM_STATE, &state),
        OSSL_PARAM_construct_uint("unknown", &unknown),
        OSSL_PARAM_END
    };
    int count = 0;

    CHECK(known != NULL);
    for (; known->key != NULL; known++, count++)
        number(generator, known->key);
    CHECK(count == 13);
    CHECK(number(generator, OSSL_RAND_PARAM_STATE) == EVP_RAND_STATE_UNINITIALISED);
    CHECK(number(generator, OSSL_RAND_PARAM_STRENGTH) == 256);
    CHECK(EVP_RAND_get_strength(generator) == 256);
    before = time(NULL);
    CHECK(EVP_RAND_instantiate(generator, 256, 0, NULL, 0, NULL));
    CHECK(EVP_RAND_CTX_get_params(generator, asked));
    CHECK(max_request == 0x7fffffff && state == EVP_RAND_STATE_READY);
    CHECK(before <= seeded && seeded <= time(NULL));
    CHECK(unknown == 12345 && !OSSL_PARAM_modified(&asked[3]));
    CHECK(EVP_RAND_CTX_get_params(generator, asked + 4));
    EVP_RAND_CTX_free(generator);
}

/* OpenSSL 3.0 passes these settings to any configured generator. */
static void check_settings_are_accepted(void)
{
    EVP_RAND_CTX *generator = create("SQUALL", NULL);
    unsigned int requests = 7;
    int derive = 1;
    time_t seconds = 7;
    OSSL_PARAM settings[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_DRBG_PARAM_CIPHER, "AES-256-CTR", 0),
        OSSL_PARAM_construct_utf8_string(OSSL_DRBG_PARAM_DIGEST, "SHA256", 0),
        OSSL_PARAM_construct_utf8_string(OSSL_DRBG_PARAM_MAC, "HMAC", 0),
        OSSL_PARAM_construct_utf8_string(OSSL_DRBG_PARAM_PROPERTIES, "provider=squall", 0),
        OSSL_PARAM_construct_int(OSSL_DRBG_PARAM_USE_DF, &derive),
        OSSL_PARAM_construct_uint(OSSL_DRBG_PARAM_RESEED_REQUESTS, &requests),
        OSSL_PARAM_construct_time_t(OSSL_DRBG_PARAM_RESEED_TIME_INTERVAL, &seconds),
        OSSL_PARAM_END
    };

    CHECK(EVP_RAND_instantiate(generator, 0, 0, NULL, 0, settings));
    CHECK(EVP_RAND_CTX_set_params(generator, settings));
    /* They have no effect, and the generator does not list them as settable. */
    CHECK(EVP_RAND_CTX_settable_params(generator) == NULL);
    CHECK(number(generator, OSSL_DRBG_PARAM_RESEED_REQUESTS) == 0);
    EVP_RAND_CTX_free(generator);
}

static void check_life_cycle(void)
{
    static const unsigned char zeros[32];
    unsigned char bytes[4][32] = { { 0 } };
    EVP_RAND_CTX *generator = create("SQUALL", NULL);
    unsigned int counter;

    CHECK(EVP_RAND_verify_zeroization(generator));
    CHECK(!EVP_RAND_instantiate(generator, 257, 0, NULL, 0, NULL));
    CHECK_REASON(PROV_R_INSUFFICIENT_DRBG_STRENGTH);
    CHECK(EVP_RAND_get_state(generator) == EVP_RAND_STATE_UNINITIALISED);
    CHECK(EVP_RAND_instantiate(generator, 256, 1, bytes[0], 3, NULL));
    CHECK(EVP_RAND_instantiate(generator, 256, 0, NULL, 0, NULL));
    CHECK_REASON(PROV_R_ALREADY_INSTANTIATED);
    CHECK(EVP_RAND_enable_locking(generator));

    CHECK(EVP_RAND_generate(generator, bytes[0], 32, 256, 0, NULL, 0));
    CHECK(EVP_RAND_generate(generator, bytes[1], 32, 128, 1, NULL, 0));
    CHECK(EVP_RAND_generate(generator, bytes[2], 32, 0, 0, zeros, sizeof(zeros)));
    CHECK(EVP_RAND_nonce(generator, bytes[3], 32));
    for (int i = 0; i < 4; i++) {
        CHECK(memcmp(bytes[i], zeros, 32) != 0);
        for (int j = 0; j < i; j++)
            CHECK(memcmp(bytes[i], bytes[j], 32) != 0);
    }
    memset(bytes, 0, sizeof(bytes));
    CHECK(!EVP_RAND_generate(generator, bytes[0], 32, 257, 0, NULL, 0));
    CHECK_REASON(PROV_R_INSUFFICIENT_DRBG_STRENGTH);
    CHECK(memcmp(bytes[0], zeros, 32) == 0);

    counter = number(generator, OSSL_DRBG_PARAM_RESEED_COUNTER);
    CHECK(EVP_RAND_reseed(generator, 1, zeros, 32, zeros, 32));
    CHECK(counter != number(generator, OSSL_DRBG_PARAM_RESEED_COUNTER));

    CHECK(EVP_RAND_uninstantiate(generator));
    CHECK(EVP_RAND_verify_zeroization(generator));
    CHECK(EVP_RAND_get_state(generator) == EVP_RAND_STATE_UNINITIALISED);
    /* A request instantiates it again. */
    CHECK(EVP_RAND_generate(generator, bytes[0], 32, 0, 0, NULL, 0));
    CHECK(memcmp(bytes[0], zeros, 32) != 0);
    CHECK(EVP_RAND_get_state(generator) == EVP_RAND_STATE_READY);
    EVP_RAND_CTX_free(generator);
}

static void check_as_parent_of(const char *name, OSSL_PARAM settings[])
{
    unsigned char bytes[3][48] = { { 0 } };
    EVP_RAND_CTX *parent = create("SQUALL", NULL), *child, *grandchild;
    unsigned int counter, epoch;

    /* The child's request for a seed instantiates its parent. */
    child = create(name, parent);
    CHECK(EVP_RAND_enable_locking(child));
    CHECK(EVP_RAND_instantiate(child, 256, 0, NULL, 0, settings));
    grandchild = create(name, child);
    CHECK(EVP_RAND_instantiate(grandchild, 128, 1, NULL, 0, settings));
    CHECK(EVP_RAND_generate(child, bytes[0], 48, 256, 0, NULL, 0));
    CHECK(EVP_RAND_generate(grandchild, bytes[1], 48, 0, 1, NULL, 0));
    /* The child takes a new seed only when its parent has a new epoch. A reseed of the kernel's RNG
     * begins one, once a minute. */
    do {
        epoch = number(parent, OSSL_DRBG_PARAM_RESEED_COUNTER);
        CHECK(EVP_RAND_reseed(child, 1, NULL, 0, NULL, 0));
        counter = number(child, OSSL_DRBG_PARAM_RESEED_COUNTER);
        CHECK(EVP_RAND_generate(child, bytes[2], 48, 0, 0, NULL, 0));
    } while (epoch != number(parent, OSSL_DRBG_PARAM_RESEED_COUNTER));
    CHECK(counter == number(child, OSSL_DRBG_PARAM_RESEED_COUNTER));
    CHECK(EVP_RAND_reseed(parent, 0, NULL, 0, NULL, 0));
    CHECK(EVP_RAND_generate(child, bytes[2], 48, 0, 0, NULL, 0));
    CHECK(counter != number(child, OSSL_DRBG_PARAM_RESEED_COUNTER));
    CHECK(memcmp(bytes[0], bytes[1], 48) != 0 && memcmp(bytes[1], bytes[2], 48) != 0);
    CHECK(EVP_RAND_uninstantiate(parent));
    CHECK(EVP_RAND_reseed(child, 0, NULL, 0, NULL, 0));
    CHECK(EVP_RAND_get_state(parent) == EVP_RAND_STATE_READY);
    EVP_RAND_CTX_free(grandchild);
    EVP_RAND_CTX_free(child);
    EVP_RAND_CTX_free(parent);
}

static void check_life(void)
{
    OSSL_PROVIDER *builtin;
    OSSL_PARAM ctr[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_DRBG_PARAM_CIPHER, "AES-256-CTR", 0),
        OSSL_PARAM_END
    };
    int derive = 0;
    OSSL_PARAM plain_ctr[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_DRBG_PARAM_CIPHER, "AES-256-CTR", 0),
        OSSL_PARAM_construct_int(OSSL_DRBG_PARAM_USE_DF, &derive),
        OSSL_PARAM_END
    };
    OSSL_PARAM hash[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_DRBG_PARAM_DIGEST, "SHA512", 0),
        OSSL_PARAM_END
    };

    load();
    CHECK((builtin = OSSL_PROVIDER_load(library, "default")) != NULL);
    check_provider_parameters(squall);
    check_fetching();
    check_generator_parameters();
    check_settings_are_accepted();
    check_life_cycle();
    check_as_parent_of("CTR-DRBG", ctr);
    check_as_parent_of("CTR-DRBG", plain_ctr);
    check_as_parent_of("HASH-DRBG", hash);
    CHECK(ERR_peek_error() == 0);
    OSSL_PROVIDER_unload(squall);
    OSSL_PROVIDER_unload(builtin);
    OSSL_LIB_CTX_free(library);
}

#define THREADS 4
#define ROUNDS 20

static pthread_barrier_t loaded, drawn, unloaded;

static void *draw(void *unused)
{
    unsigned char bytes[32];
    EVP_RAND_CTX *generator;

    pthread_barrier_wait(&loaded);
    generator = create("SQUALL", NULL);
    CHECK(EVP_RAND_instantiate(generator, 0, 0, NULL, 0, NULL));
    CHECK(EVP_RAND_generate(generator, bytes, sizeof(bytes), 0, 0, NULL, 0));
    EVP_RAND_CTX_free(generator);
    pthread_barrier_wait(&drawn);
    pthread_barrier_wait(&unloaded);
    return NULL;
}

static void unload(void)
{
    pthread_t ids[THREADS];

    pthread_barrier_init(&loaded, NULL, THREADS + 1);
    pthread_barrier_init(&drawn, NULL, THREADS + 1);
    pthread_barrier_init(&unloaded, NULL, THREADS + 1);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < THREADS; i++)
            CHECK(pthread_create(&ids[i], NULL, draw, NULL) == 0);
        load();
        pthread_barrier_wait(&loaded);
        pthread_barrier_wait(&drawn);
        CHECK(OSSL_PROVIDER_unload(squall));
        OSSL_LIB_CTX_free(library);
        pthread_barrier_wait(&unloaded);
        for (int i = 0; i < THREADS; i++)
            pthread_join(ids[i], NULL);
    }
    printf("done\n");
}

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

static void refuse(int is_early)
{
    unsigned char bytes[32];
    unsigned int epoch;
    EVP_RAND_CTX *generator, *child;
    OSSL_PARAM ctr[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_DRBG_PARAM_CIPHER, "AES-256-CTR", 0),
        OSSL_PARAM_END
    };

    load();
    CHECK(OSSL_PROVIDER_load(library, "default"));
    generator = create("SQUALL", NULL);
    child = create("CTR-DRBG", generator);
    if (is_early) {
        refuse_randomness();
        CHECK(!EVP_RAND_instantiate(generator, 0, 0, NULL, 0, NULL));
        CHECK_REASON(PROV_R_ERROR_RETRIEVING_ENTROPY);
        CHECK(EVP_RAND_get_state(generator) == EVP_RAND_STATE_UNINITIALISED);
        return;
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
}

int main(int argc, char **argv)
{
    const char *what = argc == 3 ? argv[2] : "";

    folder = argv[1];
    if (strcmp(what, "life") == 0)
        check_life();
    else if (strcmp(what, "unload") == 0)
        unload();
    else if (strcmp(what, "late") == 0 || strcmp(what, "early") == 0)
        refuse(what[0] == 'e');
    else
        return 2;
    return 0;
}
