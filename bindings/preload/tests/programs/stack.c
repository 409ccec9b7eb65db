/* Measures the stack that a draw takes: the first of a process, the first of a thread and a later one.
   Also draws on the smallest possible stack of a thread. */
#include "report.h"
#include <limits.h>
#include <pthread.h>
#include <signal.h>

enum { ROOM = 1 << 16 };

static unsigned char painted[ROOM] __attribute__((aligned(4096)));
static int device;

/* The function that the signal handler calls on the painted stack, apart from the thread's own stack. */
static void (*handler_action)(void);

static void by_getrandom(void) {
    unsigned char bytes[16];
    CHECK(getrandom(bytes, 16, 0) == 16);
}

static void by_device(void) {
    unsigned char bytes[16];
    CHECK(read(device, bytes, 16) == 16);
}

static void nothing(void) {}

static void handle(int signal) {
    (void)signal;
    handler_action();
}

/* The number of bytes of the painted stack that a handler touches when it calls `draw`. */
static size_t stack_touched(void (*draw)(void)) {
    memset(painted, 0xa5, ROOM);
    handler_action = draw;
    CHECK(raise(SIGUSR1) == 0);
    size_t clean = 0;
    while (clean < ROOM && painted[clean] == 0xa5) clean++;
    return ROOM - clean;
}

static void use_painted_stack(void) {
    stack_t stack = {.ss_sp = painted, .ss_size = ROOM};
    CHECK(sigaltstack(&stack, NULL) == 0);
}

static void *measure(void *first) {
    use_painted_stack();
    size_t frame = stack_touched(nothing);
    printf("%s %zu\n", (const char *)first, stack_touched(by_getrandom) - frame);
    printf("later %zu\n", stack_touched(by_getrandom) - frame);
    printf("device %zu\n", stack_touched(by_device) - frame);
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
    CHECK(sigaction(SIGUSR1, &action, NULL) == 0);
    measure("process");
    CHECK(pthread_create(&thread, NULL, measure, "thread") == 0 && pthread_join(thread, NULL) == 0);
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, PTHREAD_STACK_MIN) == 0);
    CHECK(pthread_create(&thread, &attributes, draw, NULL) == 0 && pthread_join(thread, NULL) == 0);
    printf("smallest thread: drawn\n");
    return 0;
}
