/*
 * The only program of a user-mode Linux: loads squall.ko, reads /dev/zero,
 * /dev/squall and /dev/urandom in turn, 1 MiB at a time as `dd bs=1M` does, and
 * prints the best of the turns. Then it loads squall_measure.ko, which does so
 * in the kernel, and switches the machine off.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LEN = 1 << 20, READS = 64, TURNS = 30, DEVICES = 3 };

static const char *const paths[DEVICES] = {"/dev/zero", "/dev/squall", "/dev/urandom"};
static char buffer[LEN] __attribute__((aligned(4096)));

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void load(const char *path) {
    int file = open(path, O_RDONLY);
    syscall(SYS_finit_module, file, "", 0);
    close(file);
}

int main(void) {
    double best[DEVICES] = {0};
    mount("dev", "/dev", "devtmpfs", 0, "");
    load("/squall.ko");
    for (int turn = 0; turn < TURNS; turn++)
        for (int device = 0; device < DEVICES; device++) {
            int file = open(paths[device], O_RDONLY);
            double start = now();
            for (int i = 0; i < READS; i++)
                if (read(file, buffer, LEN) != LEN)
                    perror(paths[device]);
            double rate = READS * (double)LEN / (now() - start) / 1e6;
            best[device] = rate > best[device] ? rate : best[device];
            close(file);
        }
    for (int device = 0; device < DEVICES; device++)
        printf("%s, reads of 1 MiB by a program: %.0f MB/s\n", paths[device], best[device]);
    fflush(stdout);
    load("/squall_measure.ko");
    sync();
    reboot(RB_POWER_OFF);
    return 1;
}
