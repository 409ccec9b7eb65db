/* Descriptors that children and new programs inherit. */
#include "said.h"
#include <spawn.h>
#include <sys/mman.h>

extern char **environ;

/* As a new program: descriptor 10 is a device, 11 a file; 0 is whatever it was made. */
static int inherited(const char *how, int input_is_device) {
    unsigned char bytes[16] = {0};
    char contents[16] = {0};
    MUST(read(10, bytes, 16) == 16 && looks_drawn(bytes, 16));
    MUST(pread(11, contents, 16, 0) == 8 && !memcmp(contents, "contents", 8));
    if (input_is_device) MUST(read(0, bytes, 16) == 16 && looks_drawn(bytes, 16));
    else MUST(pread(0, contents, 16, 0) == 8 && !memcmp(contents, "contents", 8));
    printf("%s: a device and a file\n", how);
    return 0;
}

static void ended(pid_t child) {
    int status;
    MUST(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

int main(int count, char **arguments) {
    if (count > 1) return inherited(arguments[1], arguments[2][0] == '1');
    int device = open("/dev/urandom", O_RDONLY), file = memfd_create("file", 0);
    unsigned char bytes[16];
    long served = 0;
    MUST(write(file, "contents", 8) == 8);
    MUST(dup2(device, 10) == 10 && dup2(file, 11) == 11);
    /* What 0 is must not be remembered beyond exec. */
    MUST(dup2(file, 0) == 0);
    for (int by_device = 0; by_device < 2; by_device++) {
        char *as[] = {"children", "fork", by_device ? "1" : "0", NULL};
        pid_t child = fork();
        MUST(child >= 0);
        if (child == 0) {
            MUST(read(10, bytes, 16) == 16 && looks_drawn(bytes, 16));
            dup2(by_device ? device : file, 0);
            execv("/proc/self/exe", as);
            _exit(1);
        }
        ended(child);
        as[1] = "vfork";
        child = vfork();
        MUST(child >= 0);
        if (child == 0) {
            dup2(by_device ? device : file, 0);
            close(device);
            execv("/proc/self/exe", as);
            _exit(1);
        }
        ended(child);
        as[1] = "posix_spawn";
        posix_spawn_file_actions_t actions;
        MUST(posix_spawn_file_actions_init(&actions) == 0);
        MUST(posix_spawn_file_actions_adddup2(&actions, by_device ? device : file, 0) == 0);
        MUST(posix_spawn(&child, "/proc/self/exe", &actions, NULL, as, environ) == 0);
        ended(child);
        served += 1 + 3 * (1 + by_device);
        /* The parent's own are as they were. */
        MUST(pread(0, bytes, 16, 0) == 8 && !memcmp(bytes, "contents", 8));
        MUST(read(device, bytes, 16) == 16 && looks_drawn(bytes, 16));
        served++;
    }
    /* A child of vfork reads, and its numbers mean something else than its parent's. */
    pid_t child = vfork();
    if (child == 0) {
        syscall(SYS_dup3, file, 10, 0);
        syscall(SYS_dup3, device, 11, 0);
        unsigned char own[16];
        if (read(10, own, 16) != 0 && pread(10, own, 16, 0) != 8) _exit(1);
        if (read(11, own, 16) != 16 || !looks_drawn(own, 16)) _exit(2);
        _exit(0);
    }
    ended(child);
    MUST(pread(11, bytes, 16, 0) == 8 && !memcmp(bytes, "contents", 8));
    MUST(read(10, bytes, 16) == 16 && looks_drawn(bytes, 16));
    printf("vfork: a device and a file\n");
    /* Who read for that child and for its parent afterwards is the memory's that they share. */
    counted_at_least("device", served);
    return 0;
}
