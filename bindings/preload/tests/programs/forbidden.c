/* A program draws, switches off the cycle counter or CPUID, and draws on. The argument says how: tsc or cpuid, by a
   function or, followed by "number", by syscall(2). */
#include "report.h"
#include <pthread.h>
#include <sys/prctl.h>

#ifndef SYS_arch_prctl
#define SYS_arch_prctl (-1)
#endif
#define ARCH_SET_CPUID 0x1012

static unsigned char bytes[4096];

#ifdef __x86_64__
extern int arch_prctl(int operation, unsigned long argument);
#else
#define arch_prctl(operation, argument) syscall(SYS_arch_prctl, operation, argument)
#endif

static void *draw(void *unused) {
    for (int i = 0; i < 1000; i++) CHECK(getrandom(bytes, 16, 0) == 16 && looks_drawn(bytes, 16));
    CHECK(getrandom(bytes, sizeof bytes, 0) == sizeof bytes);
    return unused;
}

int main(int count, char **arguments) {
    pthread_t thread;
    int by_number = count == 3, status;
    CHECK(count > 1);
    /* What forbids nothing changes nothing. */
    if (prctl(PR_SET_TSC, PR_TSC_ENABLE)) errno = 0;
    CHECK(getrandom(bytes, 16, 0) == 16);
    if (!strcmp(arguments[1], "tsc"))
        status = by_number ? (int)syscall(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0)
                           : prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
    else
        status = by_number ? (int)syscall(SYS_arch_prctl, ARCH_SET_CPUID, 0)
                           : arch_prctl(ARCH_SET_CPUID, 0);
    printf("%d\n", status);
    int is_served = status != 0 || (by_number && !REPLACES_SYSCALL);
    draw(NULL);
    CHECK(pthread_create(&thread, NULL, draw, NULL) == 0 && pthread_join(thread, NULL) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (!child) {
        draw(NULL);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    counted("getrandom", is_served ? 3004 : 1, is_served ? 0 : 3003);
    return 0;
}
