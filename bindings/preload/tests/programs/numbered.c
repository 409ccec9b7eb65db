/* syscall(2) with any number gives the kernel's result. */
#include "report.h"
#include <signal.h>
#include <sys/mman.h>

int main(void) {
    unsigned char bytes[16];
    PRINT(syscall(SYS_close, -1));
    PRINT(syscall(-1));
    PRINT(syscall(1L << 20, 1, 2, 3, 4, 5, 6));
    PRINT(syscall(SYS_prctl, -1, 0, 0, 0, 0));
    PRINT(syscall(SYS_prctl, 3 /* PR_GET_DUMPABLE */, 0, 0, 0, 0));
    PRINT(syscall(SYS_prctl, 22 /* PR_SET_SECCOMP */, 99, 0, 0, 0));
    PRINT(syscall(SYS_seccomp, 99, 0, NULL));
    /* libseccomp makes these calls to learn whether the kernel has seccomp(2). */
    PRINT(syscall(SYS_seccomp, 0 /* SECCOMP_SET_MODE_STRICT */, 1, NULL));
    PRINT(syscall(SYS_seccomp, 1 /* SECCOMP_SET_MODE_FILTER */, 0, NULL));
    CHECK(syscall(SYS_getpid) == getpid());
    /* clone3 with memory that is not mapped, or not readable, and a structure without a child. */
    void *none = mmap(NULL, 1 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    unsigned long no_child[8] = {[4] = 1000 /* no signal */};
    PRINT(syscall(435 /* SYS_clone3 */, NULL, 64));
    PRINT(syscall(435, (void *)4096, 64));
    PRINT(syscall(435, none, 64));
    PRINT(syscall(435, none, 8));
    PRINT(syscall(435, no_child, 64));

    /* A call with six arguments that the kernel checks, and a result of more than 32 bits. */
    int file = memfd_create("file", 0);
    long page = sysconf(_SC_PAGESIZE);
    CHECK(ftruncate(file, 3 * page) == 0 && pwrite(file, "contents", 8, 2 * page) == 8);
    char *mapped = (char *)syscall(SYS_mmap, NULL, page, PROT_READ, MAP_PRIVATE, file, 2 * page);
    CHECK(mapped != MAP_FAILED && !memcmp(mapped, "contents", 8));
    CHECK(syscall(SYS_munmap, mapped, page) == 0);

    /* A call that returns twice. */
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    CHECK(child >= 0);
    if (!child) {
        if (syscall(SYS_getrandom, bytes, 16, 0) != 16 || !looks_drawn(bytes, 16)) _exit(1);
        _exit(0);
    }
    int status;
    CHECK(waitpid(child, &status, 0) == child && status == 0);

    /* Squall still serves reads of devices, because no sandbox was entered. */
    int device = open("/dev/urandom", O_RDONLY);
    CHECK(read(device, bytes, 16) == 16 && looks_drawn(bytes, 16));
    counted("device", 1, 0);
    if (REPLACES_SYSCALL) counted("getrandom", 1, 0);
    return 0;
}
