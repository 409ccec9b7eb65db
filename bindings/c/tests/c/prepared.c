/* Checks that a first draw allocates nothing, although the program has taken all the thread keys that
 * the C library provides without allocating. With an argument, the program takes them before squall
 * can take its own key, which is the control. */

#include <squall.h>

#include <pthread.h>
#include <stdlib.h>

#define KEYS 40

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);

static int allocations;

void *malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    allocations++;
    return __libc_calloc(count, size);
}

static int take_keys(void)
{
    pthread_key_t key;
    int taken = 0;

    while (taken < KEYS && pthread_key_create(&key, NULL) == 0)
        taken++;
    return taken == KEYS;
}

static void take_first(int count, char **arguments)
{
    (void)arguments;
    if (count > 1 && !take_keys())
        abort();
}

/* Called before every library's constructors. */
__attribute__((section(".preinit_array"), used)) static void (*const first)(int, char **) =
    take_first;

int main(int count, char **arguments)
{
    unsigned char bytes[16];
    int before;

    (void)arguments;
    if (count == 1 && !take_keys())
        abort();
    before = allocations;
    if (squall_fill(bytes, sizeof bytes) != SQUALL_OK)
        abort();
    return allocations == before ? EXIT_SUCCESS : EXIT_FAILURE;
}
