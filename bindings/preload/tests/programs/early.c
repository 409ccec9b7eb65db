/* Draws in the executable's .preinit_array, before any constructor has run. */
#include "report.h"
#include <sys/mman.h>

static unsigned char drawn[8][16];
static long results[9];
static int contents[2], self;
static char *mapped;

static void draw(int count, char **arguments, char **environment) {
    (void)count, (void)arguments, (void)environment;
    self = open("/proc/self/exe", O_RDONLY);
    results[0] = getrandom(drawn[0], 16, 0);
    results[1] = getrandom(drawn[1], 16, GRND_NONBLOCK);
    results[2] = getentropy(drawn[2], 16);
    int fd = open("/dev/urandom", O_RDONLY), other = openat(AT_FDCWD, "/dev/zero", O_RDONLY);
    results[3] = read(fd, drawn[3], 16);
    results[4] = pread(fd, drawn[4], 16, 0);
    struct iovec buffer = {drawn[5], 16};
    int twice = dup2(fd, fcntl(fd, F_DUPFD, 20));
    results[5] = readv(twice, &buffer, 1);
    results[6] = syscall(SYS_getrandom, drawn[6], 16, 0);
    results[7] = getrandom(drawn[7], 16, 64);
    /* A call with six arguments that the kernel checks. */
    mapped = (char *)syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE, self, sysconf(_SC_PAGESIZE));
    results[8] = syscall(SYS_lseek, other, 1L << 40, 99) == -1 ? errno : 0;
    contents[0] = (int)read(other, &contents[1], sizeof contents[1]);
    close(fd), close(other), close(twice);
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(int, char **,
                                                                          char **) = draw;

int main(void) {
    for (int i = 0; i < 8; i++) {
        printf("%d: %ld, %s\n", i, results[i], looks_drawn(drawn[i], 16) ? "drawn" : "nothing");
    }
    printf("zeros: %d %d\n", contents[0], contents[1]);
    printf("refused: %s\n", strerror((int)results[8]));
    char page[4096];
    CHECK(mapped != MAP_FAILED && pread(self, page, 4096, sysconf(_SC_PAGESIZE)) == 4096);
    CHECK(!memcmp(mapped, page, 4096));
    CHECK(repeats(drawn, 7) == 0);
    /* Only this draw is counted, because the library's constructor has run now. */
    CHECK(getrandom(drawn[0], 16, 0) == 16);
    counted("getrandom", 1, 0);
    return 0;
}
