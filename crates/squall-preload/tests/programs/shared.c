/* A child that shares its parent's memory and its thread's variables, and draws while it draws. */
#include "said.h"
#include <sched.h>
#include <signal.h>

enum { DRAWS = 200000, STACK = 1 << 16 };

static unsigned char drawn[2][DRAWS][16];
static char stack[STACK] __attribute__((aligned(16)));
static volatile int runs;

static void draw(unsigned char (*out)[16]) {
    for (int i = 0; i < DRAWS; i++) {
        if (getrandom(out[i], 16, 0) != 16) abort();
    }
}

static int draw_too(void *unused) {
    (void)unused;
    runs = 1;
    draw(drawn[1]);
    return 0;
}

/* As vfork(2) makes one: its parent waits for it. */
static int draw_once(void *unused) {
    (void)unused;
    return getrandom(drawn[1][0], 16, 0) != 16;
}

static void ended(pid_t child) {
    int status;
    MUST(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

int main(void) {
    MUST(getrandom(drawn[0][0], 16, 0) == 16);
    ended(clone(draw_once, stack + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL));
    MUST(looks_drawn(drawn[1][0], 16));
    MUST(getrandom(drawn[0][0], 16, 0) == 16);
    pid_t child = clone(draw_too, stack + STACK, CLONE_VM | SIGCHLD, NULL);
    while (!runs) {}
    draw(drawn[0]);
    ended(child);
    MUST(repeats((unsigned char(*)[16])drawn, 2 * DRAWS) == 0);
    printf("no repeats\n");
    /* What is drawn from that child on is the kernel's. */
    if (IS_NUMBERED) counted("getrandom", 3, 2 * DRAWS);
    else counted_at_least("getrandom", 3);
    int device = open("/dev/urandom", O_RDONLY);
    MUST(read(device, drawn[0][0], 16) == 16);
    if (IS_NUMBERED) counted("device", 0, 1);
    return 0;
}
