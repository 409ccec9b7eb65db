/* syscall(2): whatever its number, what comes is what the kernel says. */
#include "said.h"
#include <signal.h>
#include <sys/mman.h>

int main(void) {
    unsigned char bytes[16];
    SAY(syscall(SYS_close, -1));
    SAY(syscall(-1));
    SAY(syscall(1L << 20, 1, 2, 3, 4, 5, 6));
    SAY(syscall(SYS_prctl, -1, 0, 0, 0, 0));
    SAY(syscall(SYS_prctl, 3 /* PR_GET_DUMPABLE */, 0, 0, 0, 0));
    SAY(syscall(SYS_prctl, 22 /* PR_SET_SECCOMP */, 99, 0, 0, 0));
    SAY(syscall(SYS_seccomp, 99, 0, NULL));
    /* As libseccomp asks whether there is the call. */
    SAY(syscall(SYS_seccomp, 0 /* SECCOMP_SET_MODE_STRICT */, 1, NULL));
    SAY(syscall(SYS_seccomp, 1 /* SECCOMP_SET_MODE_FILTER */, 0, NULL));
    MUST(syscall(SYS_getpid) == getpid());

    /* Six arguments, all looked at, and a result beyond 32 bits. */
    int file = memfd_create("file", 0);
    MUST(ftruncate(file, 3 * 4096) == 0 && pwrite(file, "contents", 8, 2 * 4096) == 8);
    char *mapped = (char *)syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE, file, 2 * 4096L);
    MUST(mapped != MAP_FAILED && !memcmp(mapped, "contents", 8));
    MUST(syscall(SYS_munmap, mapped, 4096) == 0);

    /* One that returns twice. */
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    MUST(child >= 0);
    if (!child) {
        if (syscall(SYS_getrandom, bytes, 16, 0) != 16 || !looks_drawn(bytes, 16)) _exit(1);
        _exit(0);
    }
    int status;
    MUST(waitpid(child, &status, 0) == child && status == 0);

    /* Reads of devices are still seen: no sandbox was entered. */
    int device = open("/dev/urandom", O_RDONLY);
    MUST(read(device, bytes, 16) == 16 && looks_drawn(bytes, 16));
    counted("device", 1, 0);
    if (IS_NUMBERED) counted("getrandom", 1, 0);
    return 0;
}
