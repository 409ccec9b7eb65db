/* Descriptors that children and new programs inherit. */
#include "report.h"
#include <spawn.h>
#include <sys/mman.h>

extern char **environ;

/* Runs in a new program: descriptor 10 is a device, 11 a file, and 0 either of them. */
static int check_inherited(const char *how, int input_is_device) {
    unsigned char bytes[16] = {0};
    char contents[16] = {0};
    CHECK(read(10, bytes, 16) == 16 && looks_drawn(bytes, 16));
    CHECK(pread(11, contents, 16, 0) == 8 && !memcmp(contents, "contents", 8));
    if (input_is_device) CHECK(read(0, bytes, 16) == 16 && looks_drawn(bytes, 16));
    else CHECK(pread(0, contents, 16, 0) == 8 && !memcmp(contents, "contents", 8));
    printf("%s: a device and a file\n", how);
    return 0;
}

static void wait_for_success(pid_t child) {
    int status;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

int main(int count, char **arguments) {
    if (count > 1) return check_inherited(arguments[1], arguments[2][0] == '1');
    int device = open("/dev/urandom", O_RDONLY), file = memfd_create("file", 0);
    unsigned char bytes[16];
    long served = 0;
    CHECK(write(file, "contents", 8) == 8);
    CHECK(dup2(device, 10) == 10 && dup2(file, 11) == 11);
    /* The library must not remember beyond exec what descriptor 0 is. */
    CHECK(dup2(file, 0) == 0);
    for (int by_device = 0; by_device < 2; by_device++) {
        char *as[] = {"children", "fork", by_device ? "1" : "0", NULL};
        pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            CHECK(read(10, bytes, 16) == 16 && looks_drawn(bytes, 16));
            dup2(by_device ? device : file, 0);
            execv("/proc/self/exe", as);
            _exit(1);
        }
        wait_for_success(child);
        as[1] = "vfork";
        child = vfork();
        CHECK(child >= 0);
        if (child == 0) {
            dup2(by_device ? device : file, 0);
            close(device);
            execv("/proc/self/exe", as);
            _exit(1);
        }
        wait_for_success(child);
        as[1] = "posix_spawn";
        posix_spawn_file_actions_t actions;
        CHECK(posix_spawn_file_actions_init(&actions) == 0);
        CHECK(posix_spawn_file_actions_adddup2(&actions, by_device ? device : file, 0) == 0);
        CHECK(posix_spawn(&child, "/proc/self/exe", &actions, NULL, as, environ) == 0);
        wait_for_success(child);
        served += 1 + 3 * (1 + by_device);
        /* The parent's own descriptors have not changed. */
        CHECK(pread(0, bytes, 16, 0) == 8 && !memcmp(bytes, "contents", 8));
        CHECK(read(device, bytes, 16) == 16 && looks_drawn(bytes, 16));
        served++;
    }
    /* A child of vfork reads; its descriptors mean other files than its parent's. */
    pid_t child = vfork();
    if (child == 0) {
        syscall(SYS_dup3, file, 10, 0);
        syscall(SYS_dup3, device, 11, 0);
        unsigned char own[16];
        if (read(10, own, 16) != 0 && pread(10, own, 16, 0) != 8) _exit(1);
        if (read(11, own, 16) != 16 || !looks_drawn(own, 16)) _exit(2);
        _exit(0);
    }
    wait_for_success(child);
    CHECK(pread(11, bytes, 16, 0) == 8 && !memcmp(bytes, "contents", 8));
    CHECK(read(10, bytes, 16) == 16 && looks_drawn(bytes, 16));
    printf("vfork: a device and a file\n");
    /* Child and parent share the library's memory, so the exact number of served requests is unknown. */
    counted_at_least("device", served);
    return 0;
}
