/* Runs a command on a terminal of its own: types what comes from standard input, and writes what the command shows to
   standard output. Ends with the command's exit status. */

#include <poll.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* Copies what there is; returns whether there may be more. */
static int copy(int from, int to) {
    char bytes[4096];
    ssize_t length = read(from, bytes, sizeof bytes);
    return length > 0 && write(to, bytes, length) == length;
}

int main(int argc, char **argv) {
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    int terminal, status;
    pid_t child = argc > 1 ? forkpty(&terminal, NULL, NULL, &size) : -1;
    if (child == -1) {
        perror("terminal");
        return 127;
    }
    if (child == 0) {
        execvp(argv[1], argv + 1);
        perror(argv[1]);
        _exit(127);
    }
    struct pollfd ends[] = {{.fd = terminal, .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
    for (;;) {
        if (poll(ends, 2, -1) == -1)
            break;
        if (ends[0].revents != 0 && !copy(terminal, STDOUT_FILENO))
            break;
        if (ends[1].revents != 0 && !copy(STDIN_FILENO, terminal))
            ends[1].fd = -1;
    }
    if (waitpid(child, &status, 0) == -1)
        return 127;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
