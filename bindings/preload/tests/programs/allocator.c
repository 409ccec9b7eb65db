/* The program's own malloc draws in each call: with getrandom, or from a device if DEVICE is defined.
   With KEYS, the program has more thread keys than the C library provides without allocating. */
#include "report.h"
#include <pthread.h>
#include <stddef.h>

static _Alignas(16) unsigned char memory[8 << 20];
static size_t used;
static long draws;

void *malloc(size_t size) {
    static _Thread_local int is_drawing;
    unsigned char bytes[16] = {0};
    /* The draw itself must not allocate. */
    if (is_drawing) abort();
    is_drawing = 1;
#ifdef DEVICE
    int fd = open("/dev/urandom", O_RDONLY);
    if (fd < 0 || read(fd, bytes, 16) != 16 || close(fd)) abort();
#else
    if (getrandom(bytes, 16, 0) != 16) abort();
#endif
    is_drawing = 0;
    if (!looks_drawn(bytes, 16)) abort();
    __atomic_add_fetch(&draws, 1, __ATOMIC_RELAXED);
    size_t room = (size + 31) & ~(size_t)15;
    size_t at = __atomic_fetch_add(&used, room, __ATOMIC_RELAXED);
    if (at + room > sizeof memory) abort();
    memcpy(memory + at, &size, sizeof size);
    return memory + at + 16;
}

void free(void *place) { (void)place; }

void *calloc(size_t count, size_t size) { return memset(malloc(count * size), 0, count * size); }

void *realloc(void *old, size_t size) {
    void *place = malloc(size);
    if (old) {
        size_t before;
        memcpy(&before, (unsigned char *)old - 16, sizeof before);
        memcpy(place, old, before < size ? before : size);
    }
    return place;
}

#ifdef KEYS
__attribute__((constructor)) static void take_keys(void) {
    pthread_key_t key;
    for (int i = 0; i < 40; i++) CHECK(pthread_key_create(&key, NULL) == 0);
}
#endif

static void *work(void *argument) {
    for (int i = 0; i < 1000; i++) argument = malloc(16);
    return argument;
}

int main(void) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
    for (int i = 0; i < 4; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    CHECK(draws >= 4000);
#ifdef DEVICE
    counted_at_least("device", 4000);
#else
    counted_at_least("getrandom", 4000);
#endif
    return 0;
}
