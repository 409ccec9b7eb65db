/* A storm of forks: all processes draw, and no block comes twice. With NAIVE it draws from a buffer
   that knows nothing of forks, to show that repeats are found. */
#include "said.h"
#include <pthread.h>
#include <sys/mman.h>

enum { MOST = 1 << 18, DEPTH = 7, DRAWS = 50 };

static unsigned char (*blocks)[16];
static long *count;
static int device;

static void draw_one(unsigned char *out, int way) {
#ifdef NAIVE
    static unsigned char buffer[4096];
    static size_t left;
    if (left < 16) {
        MUST(getrandom(buffer, sizeof buffer, 0) == sizeof buffer);
        left = sizeof buffer;
    }
    left -= 16;
    memcpy(out, buffer + left, 16);
    (void)way;
#else
    if (way % 3 == 0) MUST(getrandom(out, 16, 0) == 16);
    else if (way % 3 == 1) MUST(getentropy(out, 16) == 0);
    else MUST(read(device, out, 16) == 16);
#endif
}

static void draw(int times) {
    for (int i = 0; i < times; i++) {
        long at = __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
        MUST(at < MOST);
        draw_one(blocks[at], i);
    }
}

/* Each process has two children, to some depth, and draws before, between and after. */
static void spread(int depth) {
    pid_t children[2] = {0};
    draw(DRAWS);
    if (!depth) return;
    for (int i = 0; i < 2; i++) {
        children[i] = fork();
        MUST(children[i] >= 0);
        if (!children[i]) {
            spread(depth - 1);
            _exit(0);
        }
        draw(DRAWS);
    }
    for (int i = 0; i < 2; i++) {
        int status;
        MUST(waitpid(children[i], &status, 0) == children[i] && status == 0);
    }
    draw(DRAWS);
}

static void *spread_in_thread(void *argument) {
    spread(DEPTH - 3);
    return argument;
}

int main(void) {
    blocks = mmap(NULL, (size_t)MOST * 16, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    count = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST(blocks != MAP_FAILED && count != MAP_FAILED);
    device = open("/dev/urandom", O_RDONLY);
    spread(DEPTH);
#ifndef NAIVE
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) MUST(!pthread_create(&threads[i], NULL, spread_in_thread, NULL));
    for (int i = 0; i < 2; i++) MUST(!pthread_join(threads[i], NULL));
#else
    (void)spread_in_thread;
#endif
    MUST(*count > 10000);
    printf("repeats %s\n", repeats(blocks, *count) ? "some" : "none");
    return 0;
}
