/*
 * Runs a program in a time namespace of its own, in which the machine has run for a day longer:
 *
 *     in_time_namespace PROGRAM ARGUMENT...
 *
 * The kernel maps the vDSO's data differently there. Ends as the program does, and with 125 if it could not be run.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FAILED = 125 };

static int failed(const char *what) {
    perror(what);
    return FAILED;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fputs("usage: in_time_namespace PROGRAM ARGUMENT...\n", stderr);
        return FAILED;
    }
    if (unshare(CLONE_NEWTIME) != 0)
        return failed("unshare");
    FILE *offsets = fopen("/proc/self/timens_offsets", "w");
    if (!offsets || fputs("boottime 86400 0\n", offsets) < 0 || fclose(offsets) != 0)
        return failed("/proc/self/timens_offsets");
    /* Only children are in the namespace. */
    pid_t child = fork();
    if (child < 0)
        return failed("fork");
    if (child == 0) {
        execvp(argv[1], argv + 1);
        _exit(failed(argv[1]));
    }
    int status;
    if (waitpid(child, &status, 0) != child)
        return failed("waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
}
