/* Loads each library named as argument, draws in a thread, unloads it, and lets the thread end,
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

static int ends_after_unloading(const char *path)
{
    pthread_t thread;
    uint64_t number = 0;
    void *ended;

    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 0;
    }
    if (pthread_create(&thread, NULL, draw, &number) != 0 || pthread_join(thread, &ended) != 0)
        return 0;
    return ended != NULL && number != 0;
}

int main(int count, char **arguments)
{
    if (count < 2) {
        fprintf(stderr, "usage: %s LIBRARY...\n", arguments[0]);
        return 2;
    }
    for (int at = 1; at < count; at++)
        if (!ends_after_unloading(arguments[at]))
            return EXIT_FAILURE;
    return EXIT_SUCCESS;
}
