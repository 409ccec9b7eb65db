/* A child shares its parent's memory and thread-local variables, and both draw at once. The argument
   says how the child is made: clone, __clone or number. */
#include "report.h"
#include <sched.h>
#include <signal.h>

enum { DRAWS = 200000, STACK = 1 << 16 };

static unsigned char drawn[2][DRAWS][16];
static char stack[STACK] __attribute__((aligned(16)));
static volatile int child_runs;

static void draw(unsigned char (*out)[16]) {
    for (int i = 0; i < DRAWS; i++) {
        if (getrandom(out[i], 16, 0) != 16) abort();
    }
}

static int draw_too(void *unused) {
    (void)unused;
    child_runs = 1;
    draw(drawn[1]);
    return 0;
}

/* Runs in a child like one of vfork(2): its parent waits for it. */
static int draw_once(void *unused) {
    (void)unused;
    return getrandom(drawn[1][0], 16, 0) != 16;
}

static void end_drawn(void) {
    draw_too(NULL);
    syscall(SYS_exit, 0);
}

extern int __clone(int (*)(void *), void *, int, void *, ...);

/* The child calls the function whose address is at the top of its stack. */
static pid_t clone_by_number(int flags, void *top) {
#ifdef __aarch64__
    /* syscall(2) returns to an address in a register, so the child would go on here, without this frame. */
    register long result __asm__("x0") = SYS_clone;
    register long with __asm__("x1") = flags;
    register void *at __asm__("x2") = top;
    register long first __asm__("x3") = 0, second __asm__("x4") = 0, third __asm__("x5") = 0;
    __asm__ volatile("bl syscall\n\tcbnz x0, 1f\n\tldr x1, [sp]\n\tblr x1\n1:"
                     : "+r"(result), "+r"(with), "+r"(at), "+r"(first), "+r"(second), "+r"(third)
                     :
                     : "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17",
                       "x18", "x30", "cc", "memory");
    return (pid_t)result;
#else
    return (pid_t)syscall(SYS_clone, flags, top, NULL, NULL, NULL);
#endif
}

static pid_t start(const char *how) {
    const int flags = CLONE_VM | SIGCHLD;
    void *top = stack + STACK;
    if (!strcmp(how, "clone")) return clone(draw_too, top, flags, NULL);
    if (!strcmp(how, "__clone")) return __clone(draw_too, top, flags, NULL);
    /* The child finds this address at the top of its stack. */
    void (**first)(void) = top;
    first[-2] = end_drawn;
    return clone_by_number(flags, first - 2);
}

static void wait_for_success(pid_t child) {
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    CHECK(getrandom(drawn[0][0], 16, 0) == 16);
    wait_for_success(clone(draw_once, stack + STACK, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL));
    CHECK(looks_drawn(drawn[1][0], 16));
    CHECK(getrandom(drawn[0][0], 16, 0) == 16);
    /* A refused call changes nothing. */
    CHECK(clone(NULL, stack + STACK, CLONE_VM | SIGCHLD, NULL) == -1);
    CHECK(getrandom(drawn[0][0], 16, 0) == 16);
    pid_t child = start(arguments[1]);
    CHECK(child > 0);
    while (!child_runs) {}
    draw(drawn[0]);
    wait_for_success(child);
    printf("drawn\n");
    if (!REPLACES_SYSCALL) {
        counted_at_least("getrandom", 4);
        return 0;
    }
    /* Without this library, parent and child share the state of the vDSO, and may repeat. */
    if (!DRAWS_IN_VDSO || getenv("LD_PRELOAD")) {
        CHECK(repeats((unsigned char(*)[16])drawn, 2 * DRAWS) == 0);
    }
    /* After that child was made, the kernel serves the requests of every interface. */
    CHECK(syscall(SYS_getrandom, drawn[0][0], 16, 0) == 16);
    counted("getrandom", 4, 2 * DRAWS + 1);
    CHECK(getentropy(drawn[0][0], 16) == 0);
    counted("getentropy", 0, 1);
    int device = open("/dev/urandom", O_RDONLY);
    struct iovec buffer = {drawn[0][0], 16};
    CHECK(read(device, drawn[0][0], 16) == 16 && readv(device, &buffer, 1) == 16);
    counted("device", 0, 2);
    return 0;
}
