/* All ways to read a descriptor, of a device or of another file. Also built with _FORTIFY_SOURCE,
   which calls other functions. With an argument, it reads more than its buffer holds, by that function. */
#include "report.h"
#include <limits.h>
#include <sys/mman.h>

static unsigned char buffer[8192];
static long served, forwarded;

/* Performs a read and prints its result. If it reads a device, counts it as served by the kernel or by
   squall. */
#define READ(is_device, is_left_to_kernel, expression)                                                    \
    do {                                                                                           \
        memset(buffer, 0, sizeof buffer);                                                          \
        errno = UNTOUCHED;                                                                         \
        long long result = (expression);                                                           \
        int error = errno;                                                                         \
        printf("%s: %lld, %s\n", #expression, result,                                              \
               error == UNTOUCHED ? "errno as it was" : strerror(error));                          \
        fflush(stdout);                                                                            \
        if (is_device) {                                                                           \
            CHECK(result < 0 || looks_drawn(buffer, result));                                       \
            if (is_left_to_kernel || result < 0) forwarded++;                                             \
            else served++;                                                                         \
        }                                                                                          \
    } while (0)

/* A read that goes to the kernel uncounted, because squall does not check the descriptor. */
#define READ_UNCHECKED(expression) READ(0, 1, expression)

static void read_all(const char *what, int fd, int is_device) {
    volatile size_t sixteen = 16, all = sizeof buffer;
    struct iovec buffers[] = {{buffer, 1}, {buffer + 1, 0}, {NULL, 0}, {buffer + 1, 300}};
    struct iovec bad[] = {{buffer, 16}, {NULL, 16}};
    struct iovec far_too_long[] = {{buffer, 16}, {buffer, SIZE_MAX}};
    struct iovec many[1025];
    for (int i = 0; i < 1025; i++) many[i] = (struct iovec){buffer + 4 * i, 4};
    size_t page = sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED && mprotect(pages + page, page, PROT_NONE) == 0);
    struct iovec *unreadable = (struct iovec *)(pages + page);
    unreadable[-1] = (struct iovec){buffer, 16};
    printf("== %s\n", what);
    READ(is_device, 0, read(fd, buffer, 0));
    READ(is_device, 0, read(fd, buffer, 1));
    READ(is_device, 0, read(fd, buffer, sixteen));
    READ(is_device, 0, read(fd, buffer, all));
    READ(is_device, 0, read(fd, NULL, 0));
    READ(is_device, 1, read(fd, NULL, sixteen));
    READ(is_device, 1, read(fd, (void *)-4096, sixteen));
    READ(is_device, 1, read(fd, (void *)-4096, 0));
    READ(is_device, 1, syscall(SYS_getpid) ? read(fd, NULL, SIZE_MAX / 2) : 0);
    READ(is_device, 0, pread(fd, buffer, sixteen, 0));
    READ(is_device, 0, pread(fd, buffer, all, 1LL << 40));
    READ(is_device, 0, pread64(fd, buffer, sixteen, 1));
    READ_UNCHECKED(pread(fd, buffer, sixteen, -1));
    READ_UNCHECKED(pread64(fd, buffer, sixteen, -5));
    READ_UNCHECKED(pread(fd, buffer, sixteen, LLONG_MAX));
    READ(is_device, 0, readv(fd, buffers, 4));
    READ(is_device, 0, readv(fd, buffers, 0));
    READ(is_device, 0, readv(fd, many, 1024));
    READ(is_device, 1, readv(fd, many, 1025));
    READ(is_device, 1, readv(fd, buffers, -1));
    READ(is_device, 1, readv(fd, NULL, 1));
    READ(is_device, 1, readv(fd, unreadable, 1));
    READ(is_device, 1, readv(fd, unreadable - 1, 2));
    READ(is_device, 1, readv(fd, far_too_long, 2));
    READ(is_device, 1, readv(fd, bad + 1, 1));
    READ(is_device, 0, preadv(fd, buffers, 4, 7));
    READ(is_device, 0, preadv64(fd, buffers, 4, 7));
    READ_UNCHECKED(preadv(fd, buffers, 4, -1));
    READ_UNCHECKED(preadv64(fd, buffers, 4, LLONG_MIN));
    READ(is_device, 0, preadv2(fd, buffers, 4, 7, 0));
    READ(is_device, 0, preadv64v2(fd, buffers, 4, -1, 0));
    READ_UNCHECKED(preadv2(fd, buffers, 4, -2, 0));
    READ_UNCHECKED(preadv2(fd, buffers, 4, 0, RWF_HIPRI));
    READ_UNCHECKED(preadv64v2(fd, buffers, 4, 0, RWF_NOWAIT));
    READ_UNCHECKED(preadv2(fd, buffers, 4, 0, 0x40000000));
    READ(is_device, 0, lseek(fd, 0, SEEK_CUR) * 0 + read(fd, buffer, sixteen));
}

static void open_and_read(const char *path, int flags, int is_device) {
    char what[64];
    int fd = open(path, flags);
    CHECK(fd >= 0);
    snprintf(what, sizeof what, "%s %o", path, flags);
    read_all(what, fd, is_device);
    CHECK(close(fd) == 0);
}

/* _FORTIFY_SOURCE must notice this. */
static int overflow(const char *how) {
    volatile size_t length = 17;
    char bytes[16];
    int fd = open("/dev/urandom", O_RDONLY);
    printf("%s\n", how);
    fflush(stdout);
    printf("read %zd\n", !strcmp(how, "read") ? read(fd, bytes, length) : pread(fd, bytes, length, 0));
    return 0;
}

int main(int count, char **arguments) {
    if (count > 1) return overflow(arguments[1]);
    const char *devices[] = {"/dev/urandom", "/dev/random"};
    for (int d = 0; d < 2; d++) {
        open_and_read(devices[d], O_RDONLY, 1);
        open_and_read(devices[d], O_RDONLY | O_NONBLOCK | O_CLOEXEC, 1);
        open_and_read(devices[d], O_RDWR, 1);
        open_and_read(devices[d], O_WRONLY, 1);
        open_and_read(devices[d], O_PATH, 1);
    }
    open_and_read("/dev/zero", O_RDONLY, 0);
    open_and_read("/dev/null", O_RDONLY, 0);
    open_and_read("/etc", O_RDONLY | O_DIRECTORY, 0);
    int file = memfd_create("file", 0);
    CHECK(file >= 0 && write(file, "contents", 8) == 8 && lseek(file, 0, SEEK_SET) == 0);
    read_all("a file", file, 0);
    int ends[2];
    CHECK(pipe2(ends, O_NONBLOCK) == 0 && write(ends[1], "in a pipe", 9) == 9);
    read_all("a pipe", ends[0], 0);
    read_all("the wrong end", ends[1], 0);
    CHECK(close(file) == 0);
    read_all("closed", file, 0);
    read_all("none", -1, 0);
    read_all("beyond all", 1 << 20, 0);
    counted("device", served, forwarded);
    return 0;
}
