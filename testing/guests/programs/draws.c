/*
 * Gives 64 random bytes for each letter that it reads, until there are no more: what the lab asks
 * a program for that knows nothing of squall.
 *
 *   g  getrandom(2)
 *   a  arc4random_buf(3)
 *   d  a read of /dev/urandom
 *   n  out of a buffer of the kernel's bytes in its own memory, guarded against nothing
 *
 * Ends with 0 at the end of its input, and with 1 if something cannot be had.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LEN = 64, BUFFERED = 1 << 20 };

/* More than the lab asks for, so that it is filled once. */
static unsigned char buffer[BUFFERED];
static size_t used = BUFFERED;

/* By the system call: whoever serves it, what is buffered is not guarded. */
static int refill(void) {
    size_t filled = 0;
    while (filled < BUFFERED) {
        long got = syscall(SYS_getrandom, buffer + filled, BUFFERED - filled, 0);
        if (got <= 0)
            return 0;
        filled += (size_t)got;
    }
    used = 0;
    return 1;
}

static int from_buffer(unsigned char *out) {
    if (used == BUFFERED && !refill())
        return 0;
    memcpy(out, buffer + used, LEN);
    used += LEN;
    return 1;
}

static int answer(char letter, int device, unsigned char *out) {
    switch (letter) {
    case 'g':
        return getrandom(out, LEN, 0) == LEN;
    case 'a':
        arc4random_buf(out, LEN);
        return 1;
    case 'd':
        return read(device, out, LEN) == LEN;
    case 'n':
        return from_buffer(out);
    default:
        return 0;
    }
}

int main(void) {
    unsigned char out[LEN];
    char letter;
    int device = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (device < 0)
        return 1;
    while (read(STDIN_FILENO, &letter, 1) == 1)
        if (!answer(letter, device, out) || write(STDOUT_FILENO, out, LEN) != LEN)
            return 1;
    return 0;
}
