/* Draws by RAND and EVP_RAND with the configured generators. The argument says what:
 *   all      draws by all of RAND's functions, and prints the generators' names
 *   calls    prints the answers to calls in states that programs seldom reach, one a line, with the reason of the
 *            first error; the test compares a process with OpenSSL's own generators and one with squall's
 *   threads  draws 16 bytes at a time and prints them: many threads at once, from the public, the private and a
 *            shared generator
 *   forks    the same in a process, its children and grandchildren */
#include "check.h"
#include <openssl/rand.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONG 5000

static const char *name(EVP_RAND_CTX *generator)
{
    CHECK(generator != NULL);
    CHECK(EVP_RAND_get_state(generator) == EVP_RAND_STATE_READY);
    return EVP_RAND_get0_name(EVP_RAND_CTX_get0_rand(generator));
}

static void draw_by_all(void)
{
    static unsigned char bytes[6][LONG];
    static const unsigned char zeros[16];

    CHECK(RAND_status() == 1);
    printf("%s %s %s\n", name(RAND_get0_primary(NULL)),
           name(RAND_get0_public(NULL)), name(RAND_get0_private(NULL)));

    CHECK(RAND_bytes(bytes[0], LONG) == 1);
    CHECK(RAND_priv_bytes(bytes[1], LONG) == 1);
    CHECK(RAND_bytes_ex(NULL, bytes[2], LONG, 256) == 1);
    CHECK(RAND_priv_bytes_ex(NULL, bytes[3], LONG, 128) == 1);
    CHECK(RAND_bytes(bytes[0], 0) == 1);
    CHECK(RAND_poll() == 1);
    RAND_add("a dog", 5, 0.0);
    RAND_seed("a cat", 5);
    CHECK(RAND_bytes(bytes[4], LONG) == 1);
    CHECK(RAND_bytes(bytes[5], LONG) == 1);
    for (int i = 0; i < 6; i++) {
        for (int at = 0; at + 16 <= LONG; at += 16)
            CHECK(memcmp(bytes[i] + at, zeros, 16) != 0);
        for (int j = 0; j < i; j++)
            CHECK(memcmp(bytes[i], bytes[j], 16) != 0);
    }

    CHECK(RAND_bytes_ex(NULL, bytes[0], 16, 257) <= 0);
}

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

static void show_all(void)
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
}

#define LEN 16
#define THREADS 8
#define DRAWS 3000
#define CHILDREN 12

static unsigned char drawn[THREADS][3 * DRAWS][LEN];
static pthread_barrier_t start;

static void *draw(void *place)
{
    unsigned char (*bytes)[LEN] = place;
    EVP_RAND_CTX *shared = RAND_get0_primary(NULL);

    pthread_barrier_wait(&start);
    for (int i = 0; i < 3 * DRAWS; i += 3) {
        CHECK(RAND_bytes(bytes[i], LEN) == 1);
        CHECK(RAND_priv_bytes(bytes[i + 1], LEN) == 1);
        CHECK(EVP_RAND_generate(shared, bytes[i + 2], LEN, 0, 0, NULL, 0));
    }
    return NULL;
}

static void threads(void)
{
    pthread_t ids[THREADS];

    pthread_barrier_init(&start, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&ids[i], NULL, draw, drawn[i]) == 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(ids[i], NULL);
    for (int i = 0; i < THREADS; i++)
        for (int j = 0; j < 3 * DRAWS; j++)
            print_hex(drawn[i][j], LEN);
}

static void print_draws(void)
{
    unsigned char bytes[LEN];

    for (int i = 0; i < 20; i++) {
        CHECK(RAND_bytes(bytes, LEN) == 1);
        print_hex(bytes, LEN);
        CHECK(RAND_priv_bytes(bytes, LEN) == 1);
        print_hex(bytes, LEN);
    }
    fflush(stdout);
}

static void forks(int generations)
{
    int status;

    for (int i = 0; i < CHILDREN; i++) {
        pid_t child = fork();

        CHECK(child >= 0);
        if (child == 0) {
            print_draws();
            if (generations > 1)
                forks(generations - 1);
            _exit(0);
        }
        if (i % 2 == 0)
            print_draws();
        CHECK(waitpid(child, &status, 0) == child && status == 0);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc == 2 ? argv[1] : "";

    if (strcmp(what, "all") == 0) {
        draw_by_all();
    } else if (strcmp(what, "calls") == 0) {
        show_all();
    } else if (strcmp(what, "threads") == 0) {
        threads();
    } else if (strcmp(what, "forks") == 0) {
        print_draws();
        forks(2);
    } else {
        return 2;
    }
    return 0;
}
