/* A filter for all threads that is not set because one has another: device reads go on as before. */
#include "said.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>

static struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
static struct sock_fprog program = {1, all};
static pthread_barrier_t set;

static void *own(void *unused) {
    /* By an instruction, so that it is not seen. */
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
#ifdef __x86_64__
    long result = SYS_seccomp;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(SECCOMP_SET_MODE_FILTER), "S"(0L), "d"(&program)
                     : "rcx", "r11", "memory");
    MUST(result == 0);
#elif defined(__aarch64__)
    register long number __asm__("x8") = SYS_seccomp;
    register long result __asm__("x0") = SECCOMP_SET_MODE_FILTER;
    register long flags __asm__("x1") = 0;
    register struct sock_fprog *filter __asm__("x2") = &program;
    __asm__ volatile("svc #0" : "+r"(result) : "r"(number), "r"(flags), "r"(filter) : "memory");
    MUST(result == 0);
#else
    MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
#endif
    pthread_barrier_wait(&set);
    pause();
    return unused;
}

int main(void) {
    unsigned char bytes[16];
    pthread_t thread;
    int device = open("/dev/urandom", O_RDONLY);
    MUST(pthread_barrier_init(&set, NULL, 2) == 0);
    MUST(pthread_create(&thread, NULL, own, NULL) == 0);
    pthread_barrier_wait(&set);
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    printf("a thread: %d, a filter: %d\n", result > 0, prctl(PR_GET_SECCOMP));
    for (int i = 0; i < 3; i++) MUST(read(device, bytes, 16) == 16 && looks_drawn(bytes, 16));
    if (IS_NUMBERED) counted("device", 3, 0);
    else counted_at_least("device", 0);
    /* Without that thread it is set; descriptors are then not looked at. */
    MUST(pthread_cancel(thread) == 0 && pthread_join(thread, NULL) == 0);
    MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0);
    MUST(read(device, bytes, 16) == 16 && looks_drawn(bytes, 16));
    if (IS_NUMBERED) counted("device", 3, 0);
    return 0;
}
