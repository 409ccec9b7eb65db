/* Loads the provider when there are threads already, draws in all of them, unloads the provider, and
 * only then lets the threads end; all that repeatedly. Argument: the folder of squall.so. */
#include "check.h"
#include <openssl/evp.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <pthread.h>

#define THREADS 4
#define ROUNDS 20

static OSSL_LIB_CTX *library;
static pthread_barrier_t loaded, drawn, unloaded;

static void *draw(void *unused)
{
    unsigned char bytes[32];
    EVP_RAND *rand;
    EVP_RAND_CTX *generator;

    pthread_barrier_wait(&loaded);
    CHECK((rand = EVP_RAND_fetch(library, "SQUALL", NULL)) != NULL);
    CHECK((generator = EVP_RAND_CTX_new(rand, NULL)) != NULL);
    EVP_RAND_free(rand);
    CHECK(EVP_RAND_instantiate(generator, 0, 0, NULL, 0, NULL));
    CHECK(EVP_RAND_generate(generator, bytes, sizeof(bytes), 0, 0, NULL, 0));
    EVP_RAND_CTX_free(generator);
    pthread_barrier_wait(&drawn);
    pthread_barrier_wait(&unloaded);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t ids[THREADS];
    OSSL_PROVIDER *squall;

    CHECK(argc == 2);
    pthread_barrier_init(&loaded, NULL, THREADS + 1);
    pthread_barrier_init(&drawn, NULL, THREADS + 1);
    pthread_barrier_init(&unloaded, NULL, THREADS + 1);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < THREADS; i++)
            CHECK(pthread_create(&ids[i], NULL, draw, NULL) == 0);
        CHECK((library = OSSL_LIB_CTX_new()) != NULL);
        CHECK(OSSL_PROVIDER_set_default_search_path(library, argv[1]));
        CHECK((squall = OSSL_PROVIDER_load(library, "squall")) != NULL);
        pthread_barrier_wait(&loaded);
        pthread_barrier_wait(&drawn);
        CHECK(OSSL_PROVIDER_unload(squall));
        OSSL_LIB_CTX_free(library);
        pthread_barrier_wait(&unloaded);
        for (int i = 0; i < THREADS; i++)
            pthread_join(ids[i], NULL);
    }
    printf("done\n");
    return 0;
}
