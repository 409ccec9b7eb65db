/* Asks for random bytes in each way that says so where the kernel's generator is not ready. With an
   argument it first asks in a way that waits. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned char bytes[32];

static void say(const char *how, long result) {
    int error = errno;
    printf("%s: %ld%s%s\n", how, result, result < 0 ? ", " : "", result < 0 ? strerror(error) : "");
}

int main(int count, char **arguments) {
    (void)arguments;
    int device = open("/dev/random", O_RDONLY | O_NONBLOCK);
    if (count > 1) say("wait", getrandom(bytes, 32, 0));
    say("nonblock", getrandom(bytes, 32, GRND_NONBLOCK));
    say("nonblock, random", getrandom(bytes, 32, GRND_NONBLOCK | GRND_RANDOM));
    say("insecure", getrandom(bytes, 32, GRND_INSECURE));
    say("by number", syscall(SYS_getrandom, bytes, 32, GRND_NONBLOCK));
    say("device", read(device, bytes, 32));
    return 0;
}
