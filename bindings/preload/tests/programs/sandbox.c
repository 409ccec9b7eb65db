/* A program that enters a sandbox and continues to draw. The argument is one of:
   refused    the sandbox refuses getrandom, entered after a first draw
   narrow     all but getrandom and a few other calls kill, entered by a thread that has not drawn
   filter     all but some system calls kill, entered by prctl before any draw
   number     the same, entered by seccomp(2) as libseccomp calls it, before any draw
   option     the same, entered by prctl through syscall(2)
   drawn      the same, entered by an instruction after one draw
   unnoticed  the same, entered by an instruction before any draw
   strict     the strict mode: read, write and _exit only
   other      the kernel refuses the filter, because another thread has another one
   With "old" before it, droppable memory is refused, as by kernels before 6.11. */
#include "report.h"
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>

#define ALLOW(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define NUMBER BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))

/* Draws by a call that the sandbox may refuse. */
static ssize_t draw_by_call(void *out, size_t length) {
    return DRAWS_IN_VDSO ? syscall(SYS_getrandom, out, length, 0) : getrandom(out, length, 0);
}

static struct sock_filter refusal[] = {
    NUMBER,
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getrandom, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

/* MAP_DROPPABLE, 8, is a mapping type in the lowest four bits of the flags. */
static struct sock_filter old[] = {
    NUMBER,
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 4),
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])),
    BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 15),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 8, 0, 1),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

/* The calls of a server's child that draws, writes, forks and exits. */
static struct sock_filter sandbox[] = {
    NUMBER,
    ALLOW(SYS_read),
    ALLOW(SYS_write),
    ALLOW(SYS_getrandom),
    ALLOW(SYS_close),
    ALLOW(SYS_getpid),
    ALLOW(SYS_gettid),
    ALLOW(SYS_mmap),
    ALLOW(SYS_munmap),
    ALLOW(SYS_mprotect),
    ALLOW(SYS_madvise),
    ALLOW(SYS_brk),
    ALLOW(SYS_futex),
    ALLOW(SYS_clone),
    ALLOW(SYS_wait4),
    ALLOW(SYS_set_robust_list),
    ALLOW(SYS_rt_sigprocmask),
    ALLOW(SYS_clock_gettime),
    ALLOW(SYS_exit),
    ALLOW(SYS_exit_group),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

/* The calls of a thread that draws, writes and ends its process. */
static struct sock_filter narrow[] = {
    NUMBER,
    ALLOW(SYS_write),
    ALLOW(SYS_getrandom),
#if DRAWS_IN_VDSO
    ALLOW(SYS_mmap),
    ALLOW(SYS_rt_sigprocmask),
#endif
    ALLOW(SYS_exit_group),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

/* seccomp(2) by an instruction of this program on x86-64, otherwise by syscall(2). */
static long seccomp_by_instruction(struct sock_fprog *program) {
#ifdef __x86_64__
    long result = SYS_seccomp;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(SECCOMP_SET_MODE_FILTER), "S"(0L), "d"(program)
                     : "rcx", "r11", "memory");
    return result;
#elif defined(__aarch64__)
    register long number __asm__("x8") = SYS_seccomp;
    register long result __asm__("x0") = SECCOMP_SET_MODE_FILTER;
    register long flags __asm__("x1") = 0;
    register struct sock_fprog *filter __asm__("x2") = program;
    __asm__ volatile("svc #0" : "+r"(result) : "r"(number), "r"(flags), "r"(filter) : "memory");
    return result;
#else
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, program);
#endif
}

static void enter(struct sock_filter *filter, unsigned short length, const char *how) {
    struct sock_fprog program = {length, filter};
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    if (!strcmp(how, "filter")) CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    else if (!strcmp(how, "number"))
        CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
    else if (!strcmp(how, "option"))
        CHECK(syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    else CHECK(seccomp_by_instruction(&program) == 0);
}

/* Whether the library notices a sandbox that is entered like this. */
static int is_noticed(const char *how) {
    return !strcmp(how, "filter") ||
           (REPLACES_SYSCALL && (!strcmp(how, "number") || !strcmp(how, "option")));
}

static unsigned char bytes[4096];

static void draw(void) {
    for (int i = 0; i < 10000; i++) CHECK(getrandom(bytes, 16, 0) == 16 && looks_drawn(bytes, 16));
    CHECK(getrandom(bytes, sizeof bytes, 0) == sizeof bytes && looks_drawn(bytes, sizeof bytes));
    CHECK(getentropy(bytes, 16) == 0);
}

static void *draw_in_narrow_sandbox(void *unused) {
    const char message[] = "drawn\n";
    enter(narrow, sizeof narrow / sizeof *narrow, "filter");
    draw();
    CHECK(write(1, message, sizeof message - 1) == sizeof message - 1);
    _exit(0);
    return unused;
}

/* The kernel refuses a filter for all threads, because one thread has another filter. Squall must still
   serve reads of devices. */
static struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
static struct sock_fprog allow_all = {1, all};
static pthread_barrier_t set;

static void *enter_alone(void *unused) {
    enter(all, 1, "unnoticed");
    pthread_barrier_wait(&set);
    pause();
    return unused;
}

static int enter_beside_another(int device) {
    const int flags = SECCOMP_FILTER_FLAG_TSYNC;
    pthread_t thread;
    CHECK(pthread_barrier_init(&set, NULL, 2) == 0);
    CHECK(pthread_create(&thread, NULL, enter_alone, NULL) == 0);
    pthread_barrier_wait(&set);
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &allow_all);
    printf("a thread: %d, a filter: %d\n", result > 0, prctl(PR_GET_SECCOMP));
    for (int i = 0; i < 3; i++) CHECK(read(device, bytes, 16) == 16 && looks_drawn(bytes, 16));
    if (REPLACES_SYSCALL) counted("device", 3, 0);
    else counted_at_least("device", 0);
    /* Without that thread the kernel sets it. Then the library no longer checks descriptors. Some kernels
       still count a thread for a moment after it was joined. */
    CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, NULL) == 0);
    while ((result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &allow_all)) > 0) usleep(1000);
    CHECK(result == 0);
    CHECK(read(device, bytes, 16) == 16 && looks_drawn(bytes, 16));
    if (REPLACES_SYSCALL) counted("device", 3, 0);
    return 0;
}

int main(int count, char **arguments) {
    int ends[2], device = open("/dev/urandom", O_RDONLY), status;
    const char *how = arguments[count - 1];
    CHECK(pipe(ends) == 0 && write(ends[1], "in a pipe", 9) == 9);
    /* stdout allocates its buffer and calls fstat now, before the sandbox forbids these calls. */
    printf("%s\n", how);
    fflush(stdout);
    if (!strcmp(how, "other")) return enter_beside_another(device);
    if (!strcmp(arguments[1], "old")) enter(old, sizeof old / sizeof *old, "");
    if (!strcmp(how, "strict")) {
        CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
        if (read(ends[0], bytes, 9) != 9 || memcmp(bytes, "in a pipe", 9)) syscall(SYS_exit, 1);
        if (read(device, bytes, 16) != 16) syscall(SYS_exit, 2);
        const char message[] = "read\ncounted device 0 0\n";
        if (write(1, message, sizeof message - 1) != sizeof message - 1) syscall(SYS_exit, 3);
        syscall(SYS_exit, 0);
    }
    if (!strcmp(how, "refused")) {
        CHECK(draw_by_call(bytes, 16) == 16);
        enter(refusal, sizeof refusal / sizeof *refusal, "filter");
        PRINT(draw_by_call(bytes, 16));
        pid_t child = fork();
        CHECK(child >= 0);
        if (!child) {
            PRINT(draw_by_call(bytes, 16));
            _exit(0);
        }
        CHECK(waitpid(child, &status, 0) == child);
        counted("getrandom", 1, 2);
        return status != 0;
    }
    if (!strcmp(how, "narrow")) {
        pthread_t thread;
        CHECK(getrandom(bytes, 16, 0) == 16);
        counted("getrandom", 1, 10001);
        counted("getentropy", 0, 1);
        CHECK(pthread_create(&thread, NULL, draw_in_narrow_sandbox, NULL) == 0);
        pthread_join(thread, NULL);
    }
    if (!strcmp(how, "drawn")) CHECK(getrandom(bytes, 16, 0) == 16);
    enter(sandbox, sizeof sandbox / sizeof *sandbox, how);
    draw();
    if (is_noticed(how)) {
        CHECK(read(ends[0], bytes, 9) == 9 && !memcmp(bytes, "in a pipe", 9));
        CHECK(read(device, bytes, 16) == 16);
    }
    pid_t child = fork();
    CHECK(child >= 0);
    if (!child) {
        draw();
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    draw();
    printf("drawn\n");
    if (is_noticed(how)) counted("getrandom", 0, 30003);
    else counted_at_least("getrandom", 20000);
    return 0;
}
