/* The kernel refuses a filter for all threads, because one thread has another filter. Squall must still
   serve reads of devices. */
#include "report.h"
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sys/prctl.h>

static struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
static struct sock_fprog program = {1, all};
static pthread_barrier_t set;

static void *own(void *unused) {
    /* By an instruction, so that the library does not notice it. */
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
#ifdef __x86_64__
    long result = SYS_seccomp;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(SECCOMP_SET_MODE_FILTER), "S"(0L), "d"(&program)
                     : "rcx", "r11", "memory");
    CHECK(result == 0);
#elif defined(__aarch64__)
    register long number __asm__("x8") = SYS_seccomp;
    register long result __asm__("x0") = SECCOMP_SET_MODE_FILTER;
    register long flags __asm__("x1") = 0;
    register struct sock_fprog *filter __asm__("x2") = &program;
    __asm__ volatile("svc #0" : "+r"(result) : "r"(number), "r"(flags), "r"(filter) : "memory");
    CHECK(result == 0);
#else
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0);
#endif
    pthread_barrier_wait(&set);
    pause();
    return unused;
}

int main(void) {
    unsigned char bytes[16];
    pthread_t thread;
    int device = open("/dev/urandom", O_RDONLY);
    CHECK(pthread_barrier_init(&set, NULL, 2) == 0);
    CHECK(pthread_create(&thread, NULL, own, NULL) == 0);
    pthread_barrier_wait(&set);
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    long result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program);
    printf("a thread: %d, a filter: %d\n", result > 0, prctl(PR_GET_SECCOMP));
    for (int i = 0; i < 3; i++) CHECK(read(device, bytes, 16) == 16 && looks_drawn(bytes, 16));
    if (REPLACES_SYSCALL) counted("device", 3, 0);
    else counted_at_least("device", 0);
    /* Without that thread the kernel sets it. Then the library no longer checks descriptors. Some kernels
       still count a thread for a moment after it was joined. */
    CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, NULL) == 0);
    while ((result = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program)) > 0)
        usleep(1000);
    CHECK(result == 0);
    CHECK(read(device, bytes, 16) == 16 && looks_drawn(bytes, 16));
    if (REPLACES_SYSCALL) counted("device", 3, 0);
    return 0;
}
