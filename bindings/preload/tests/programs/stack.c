/* How much stack a draw takes, the first of a process, the first of a thread and any later one;
   and draws on the smallest stacks that there are. */
#include "said.h"
#include <limits.h>
#include <pthread.h>
#include <signal.h>

enum { ROOM = 1 << 16 };

static unsigned char painted[ROOM] __attribute__((aligned(4096)));
static int device;

/* Kept apart from a thread's own needs: a handler on a painted stack. */
static void (*to_draw)(void);

static void by_getrandom(void) {
    unsigned char bytes[16];
    MUST(getrandom(bytes, 16, 0) == 16);
}

static void by_device(void) {
    unsigned char bytes[16];
    MUST(read(device, bytes, 16) == 16);
}

static void nothing(void) {}

static void handle(int signal) {
    (void)signal;
    to_draw();
}

/* How many bytes of the painted stack a handler has touched that does this. */
static size_t touched(void (*draw)(void)) {
    memset(painted, 0xa5, ROOM);
    to_draw = draw;
    MUST(raise(SIGUSR1) == 0);
    size_t clean = 0;
    while (clean < ROOM && painted[clean] == 0xa5) clean++;
    return ROOM - clean;
}

static void on_painted_stack(void) {
    stack_t stack = {.ss_sp = painted, .ss_size = ROOM};
    MUST(sigaltstack(&stack, NULL) == 0);
}

static void *measure(void *first) {
    on_painted_stack();
    size_t frame = touched(nothing);
    printf("%s %zu\n", (const char *)first, touched(by_getrandom) - frame);
    printf("later %zu\n", touched(by_getrandom) - frame);
    printf("device %zu\n", touched(by_device) - frame);
    printf("frame %zu\n", frame);
    return NULL;
}

static void *draw(void *argument) {
    by_getrandom();
    by_device();
    return argument;
}

int main(void) {
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_ONSTACK};
    pthread_attr_t attributes;
    pthread_t thread;
    device = open("/dev/urandom", O_RDONLY);
    MUST(sigaction(SIGUSR1, &action, NULL) == 0);
    measure("process");
    MUST(pthread_create(&thread, NULL, measure, "thread") == 0 && pthread_join(thread, NULL) == 0);
    MUST(pthread_attr_init(&attributes) == 0);
    MUST(pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN) == 0);
    MUST(pthread_create(&thread, &attributes, draw, NULL) == 0 && pthread_join(thread, NULL) == 0);
    printf("smallest thread: drawn\n");
    return 0;
}
