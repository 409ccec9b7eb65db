/* Draws 16 bytes at a time by RAND_bytes and prints them. With `threads`, many threads draw at once
 * from the public, the private and a shared generator; with `forks`, a process, its children and
 * grandchildren draw. */
#include "check.h"
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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
    CHECK(argc == 2);
    if (strcmp(argv[1], "threads") == 0) {
        threads();
    } else {
        print_draws();
        forks(2);
    }
    return 0;
}
