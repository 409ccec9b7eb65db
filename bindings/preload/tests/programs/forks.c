/* Many forks: all processes draw, and no block may come twice. With NAIVE, the program draws from a
   buffer that ignores forks, to show that the test finds repeats. */
#include "report.h"
#include <pthread.h>
#include <sys/mman.h>

enum { MAX_BLOCKS = 1 << 18, DEPTH = 7, DRAWS = 50 };

static unsigned char (*blocks)[16];
static long *count;
static int device;

static void draw_one(unsigned char *out, int way) {
#ifdef NAIVE
    static unsigned char buffer[4096];
    static size_t left;
    if (left < 16) {
        CHECK(getrandom(buffer, sizeof buffer, 0) == sizeof buffer);
        left = sizeof buffer;
    }
    left -= 16;
    memcpy(out, buffer + left, 16);
    (void)way;
#else
    if (way % 3 == 0) CHECK(getrandom(out, 16, 0) == 16);
    else if (way % 3 == 1) CHECK(getentropy(out, 16) == 0);
    else CHECK(read(device, out, 16) == 16);
#endif
}

static void draw(int times) {
    for (int i = 0; i < times; i++) {
        long at = __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
        CHECK(at < MAX_BLOCKS);
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
        CHECK(children[i] >= 0);
        if (!children[i]) {
            spread(depth - 1);
            _exit(0);
        }
        draw(DRAWS);
    }
    for (int i = 0; i < 2; i++) {
        int status;
        CHECK(waitpid(children[i], &status, 0) == children[i] && status == 0);
    }
    draw(DRAWS);
}

static void *spread_in_thread(void *argument) {
    spread(DEPTH - 3);
    return argument;
}

int main(void) {
    blocks = mmap(NULL, (size_t)MAX_BLOCKS * 16, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    count = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(blocks != MAP_FAILED && count != MAP_FAILED);
    device = open("/dev/urandom", O_RDONLY);
    spread(DEPTH);
#ifndef NAIVE
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) CHECK(!pthread_create(&threads[i], NULL, spread_in_thread, NULL));
    for (int i = 0; i < 2; i++) CHECK(!pthread_join(threads[i], NULL));
#else
    (void)spread_in_thread;
#endif
    CHECK(*count > 10000);
    printf("repeats %s\n", repeats(blocks, *count) ? "some" : "none");
    return 0;
}
