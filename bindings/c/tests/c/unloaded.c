/* Loads the library named as argument, draws in a thread, unloads it, and lets the thread end,
 * which calls into the library. */

#define _POSIX_C_SOURCE 200809L

#include <squall.h>

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *library;

static void *draw(void *out)
{
    void *symbol = dlsym(library, "squall_u64");
    uint64_t (*u64)(void);

    if (symbol == NULL)
        return NULL;
    memcpy(&u64, &symbol, sizeof u64);
    *(uint64_t *)out = u64();
    return dlclose(library) == 0 ? out : NULL;
}

int main(int count, char **arguments)
{
    pthread_t thread;
    uint64_t number = 0;
    void *ended;

    library = count == 2 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library == NULL) {
        fprintf(stderr, "%s\n", count == 2 ? dlerror() : "usage: unloaded LIBRARY");
        return EXIT_FAILURE;
    }
    if (pthread_create(&thread, NULL, draw, &number) != 0 || pthread_join(thread, &ended) != 0)
        return EXIT_FAILURE;
    return ended != NULL && number != 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
