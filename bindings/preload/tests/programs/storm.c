/* Signal handlers interrupt draws and draw themselves, in every thread and on separate stacks. */
#include "report.h"
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

enum { THREADS = 3, MAX_BLOCKS = 400000, LEAST_IN_HANDLERS = 1000 };

static unsigned char blocks[MAX_BLOCKS][16];
static long count;
static volatile int is_over;
static int device;
static long in_handlers;

/* Draws in one of several ways, and checks that errno does not change. */
static void draw(unsigned way) {
    unsigned char bytes[16];
    errno = UNTOUCHED;
    switch (way % 4) {
    case 0: CHECK(getrandom(bytes, 16, 0) == 16); break;
    case 1: CHECK(getentropy(bytes, 16) == 0); break;
    case 2: CHECK(read(device, bytes, 16) == 16); break;
    default: CHECK(getrandom(bytes, 16, GRND_NONBLOCK) == 16);
    }
    CHECK(errno == UNTOUCHED);
    long at = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    if (at < MAX_BLOCKS) memcpy(blocks[at], bytes, 16);
}

static void handle(int signal) {
    static unsigned way;
    int before = errno;
    (void)signal;
    draw(way++);
    errno = before;
    __atomic_add_fetch(&in_handlers, 1, __ATOMIC_RELAXED);
}

static void *work(void *argument) {
    stack_t stack = {.ss_sp = malloc(1 << 16), .ss_size = 1 << 16};
    CHECK(stack.ss_sp && sigaltstack(&stack, NULL) == 0);
    for (unsigned way = 0; !is_over; way++) draw(way);
    return argument;
}

int main(void) {
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART | SA_ONSTACK};
    pthread_t threads[THREADS];
    device = open("/dev/urandom", O_RDONLY);
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
    for (int i = 0; __atomic_load_n(&count, __ATOMIC_RELAXED) < MAX_BLOCKS ||
                    __atomic_load_n(&in_handlers, __ATOMIC_RELAXED) < LEAST_IN_HANDLERS;
         i++) {
        pthread_kill(threads[i % THREADS], SIGUSR1);
        nanosleep(&(struct timespec){.tv_nsec = 1000}, NULL);
    }
    is_over = 1;
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
    printf("repeats %ld\n", repeats(blocks, MAX_BLOCKS));
    counted_at_least("getrandom", 1000);
    counted_at_least("getentropy", 1000);
    counted_at_least("device", 1000);
    return 0;
}
