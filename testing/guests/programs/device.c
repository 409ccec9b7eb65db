/*
 * Reads a device of random bytes in all ways, for the tests of /dev/squall:
 *
 *   device ways PATH               how each way to read it ends
 *   device refusals PATH           how each way to do anything else ends
 *   device huge PATH               a read of 2 GiB
 *   device signal PATH             the same, which a signal ends
 *   device readers PATH            64 processes read; how many blocks of 16
 *                                  bytes were there before
 *   device now                     the cycle counter
 *   device draws PATH LEN FILE     reads of LEN bytes until SIGTERM, and some
 *                                  more; then for each since the count in FILE
 *                                  the cycle counter before and after, and its
 *                                  first and last 8 bytes
 *
 * Lines do not depend on the bytes, so those of two devices can be compared.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/random.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

enum { PAGE = 4096, MIB = 1 << 20, READERS = 64, DRAWN = 1 << 18, MORE = 20 };

static const size_t HUGE_LEN = (size_t)2 << 30;

static void *map(size_t len, int flags, int file) {
    void *place = mmap(NULL, len, PROT_READ | PROT_WRITE, flags, file, 0);
    if (place == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return place;
}

/* 2 GiB of addresses with the memory of 1 MiB. */
static char *huge(void) {
    int file = memfd_create("huge", 0);
    char *place = map(HUGE_LEN, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
    if (ftruncate(file, MIB))
        exit(1);
    for (size_t at = 0; at < HUGE_LEN; at += MIB)
        if (mmap(place + at, MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
            exit(1);
    return place;
}

static void said(const char *what, ssize_t result) {
    if (result < 0)
        printf("%s: %s\n", what, strerrorname_np(errno));
    else
        printf("%s: %zd\n", what, result);
}

/* One read by io_uring, with the system calls alone; IORING_OP_READ_FIXED reads to a registered buffer. */
static ssize_t by_ring(int device, void *buffer, unsigned len, unsigned char operation) {
    struct io_uring_params params = {0};
    int ring = (int)syscall(SYS_io_uring_setup, 1, &params);
    if (ring < 0)
        return -1;
    char *queue = map(MIB, MAP_SHARED, ring);
    struct io_uring_sqe *entry = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
    struct iovec registered = {buffer, len};
    if (syscall(SYS_io_uring_register, ring, IORING_REGISTER_BUFFERS, &registered, 1))
        return -1;
    *entry = (struct io_uring_sqe){.opcode = operation, .fd = device, .addr = (uintptr_t)buffer, .len = len};
    ((unsigned *)(queue + params.sq_off.array))[0] = 0;
    __atomic_store_n((unsigned *)(queue + params.sq_off.tail), 1, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1)
        return -1;
    int result = ((struct io_uring_cqe *)(queue + params.cq_off.cqes))->res;
    errno = -result;
    return result;
}

static int open_as(const char *path, int flags) {
    int device = open(path, flags);
    if (device < 0) {
        perror(path);
        exit(1);
    }
    return device;
}

static int ways(const char *path) {
    int device = open_as(path, O_RDONLY), pipes[2], file = memfd_create("file", 0);
    char *buffer = map(3 * MIB, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    struct iovec parts[] = {{buffer, 1}, {buffer + 10, 0}, {buffer + 100, 5000}, {buffer + PAGE * 9, 33}};
    static const size_t lens[] = {0, 1, 16, 64, 65, 255, 4095, 4096, 4097, 65536, MIB, 3 * MIB - 1};
    for (size_t i = 0; i < sizeof(lens) / sizeof(*lens); i++)
        said("read", read(device, buffer, lens[i]));
    said("pread", pread(device, buffer, 100, 1L << 40));
    said("readv", readv(device, parts, 4));
    said("preadv", preadv(device, parts, 4, 12345));
    said("preadv2, without waiting", preadv2(device, parts, 4, -1, RWF_NOWAIT));
    said("seek", lseek(device, 5, SEEK_SET));
    said("seek from the end", lseek(device, -5, SEEK_END));
    said("io_uring", by_ring(device, buffer, 3 * PAGE, IORING_OP_READ));
    said("io_uring, registered buffer", by_ring(device, buffer, 3 * PAGE, IORING_OP_READ_FIXED));
    said("nonblocking", read(open_as(path, O_RDONLY | O_NONBLOCK), buffer, 5000));
    said("open for direct I/O", open(path, O_RDONLY | O_DIRECT));
    if (pipe(pipes))
        return 1;
    said("splice", splice(device, NULL, pipes[1], NULL, 3 * PAGE, 0));
    said("from the pipe", read(pipes[0], buffer, MIB));
    said("sendfile", sendfile(file, device, NULL, 10 * PAGE + 7));
    said("in the file", lseek(file, 0, SEEK_END));
    struct pollfd polled = {.fd = device, .events = POLLIN};
    said("poll", poll(&polled, 1, 1000));
    said("polled", polled.revents);
    struct epoll_event event = {.events = EPOLLIN};
    said("epoll", epoll_ctl(epoll_create1(0), EPOLL_CTL_ADD, device, &event));
    said("map", mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, device, 0) == MAP_FAILED ? -1 : 0);
    mprotect(buffer + 2 * MIB, PAGE, PROT_NONE);
    said("no memory", read(device, buffer + 2 * MIB, 16));
    said("no memory, much", read(device, buffer + 2 * MIB, MIB));
    for (size_t before = 1; before <= MIB; before = before * 3 + 5)
        said("memory ends", read(device, buffer + 2 * MIB - before, MIB));
    mprotect(buffer + MIB, PAGE, PROT_READ);
    said("memory cannot be written", read(device, buffer + MIB - 5000, MIB));
    return 0;
}

static int refusals(const char *path) {
    char byte = 0;
    int number, device = open_as(path, O_RDONLY);
    said("open to write", open(path, O_WRONLY));
    said("open to read and write", open(path, O_RDWR));
    said("write", write(device, &byte, 1));
    said("ioctl", ioctl(device, RNDGETENTCNT, &number));
    said("truncate", ftruncate(device, 0));
    return 0;
}

static int huge_read(const char *path) {
    said("2 GiB", read(open_as(path, O_RDONLY), huge(), HUGE_LEN));
    return 0;
}

static void nothing(int number) {
    (void)number;
}

static int signaled(const char *path) {
    struct sigaction action = {.sa_handler = nothing, .sa_flags = SA_RESTART};
    /* Again and again: on a slow machine the first signals come before the read. */
    struct itimerval soon = {.it_interval.tv_usec = 50000, .it_value.tv_usec = 50000};
    char *place = huge();
    int device = open_as(path, O_RDONLY);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &soon, NULL);
    ssize_t got = read(device, place, HUGE_LEN);
    puts(got > 0 && got < 0x7ffff000 && got % PAGE == 0 ? "short" : "not short");
    return 0;
}

typedef struct { uint64_t words[2]; } block;

static int compare(const void *a, const void *b) {
    return memcmp(a, b, sizeof(block));
}

static int readers(const char *path) {
    static const size_t lens[] = {16, 32, 48, 64, 80, 256, 4096, 5 * PAGE, 65536};
    enum { EACH = 1 << 17 };
    size_t count = READERS * EACH / sizeof(block), repeats = 0;
    char *place = map(READERS * EACH, MAP_SHARED | MAP_ANONYMOUS, -1);
    for (int reader = 0; reader < READERS; reader++) {
        if (fork())
            continue;
        int device = open_as(path, O_RDONLY);
        char *own = place + reader * EACH;
        for (size_t done = 0, i = (size_t)reader; done < EACH; i++) {
            size_t len = lens[i % (sizeof(lens) / sizeof(*lens))];
            if (len > EACH - done)
                len = EACH - done;
            if (read(device, own + done, len) != (ssize_t)len)
                _exit(1);
            done += len;
        }
        _exit(0);
    }
    for (int reader = 0, status; reader < READERS; reader++)
        if (wait(&status) < 0 || status)
            return 1;
    qsort(place, count, sizeof(block), compare);
    for (size_t i = 1; i < count; i++)
        repeats += !compare(place + (i - 1) * sizeof(block), place + i * sizeof(block));
    printf("%zu of %zu\n", repeats, count);
    return 0;
}

static volatile sig_atomic_t ended;

static void end(int number) {
    (void)number;
    ended = 1;
}

/* The last reads. */
static struct { uint64_t before, after, first, last; } drawn[DRAWN];

static int draws(const char *path, size_t len, const char *since) {
    int device = open_as(path, O_RDONLY);
    char *buffer = map(len, MAP_PRIVATE | MAP_ANONYMOUS, -1);
    size_t number = 0;
    signal(SIGTERM, end);
    for (int left = MORE; left; left -= ended) {
        uint64_t before = __rdtsc();
        /* The signal may make one short. */
        if (read(device, buffer, len) != (ssize_t)len)
            continue;
        size_t at = number++ % DRAWN;
        drawn[at].before = before;
        drawn[at].after = __rdtsc();
        memcpy(&drawn[at].first, buffer, 8);
        memcpy(&drawn[at].last, buffer + len - 8, 8);
    }
    FILE *file = fopen(since, "r");
    uint64_t begin;
    if (!file || fscanf(file, "%lx", &begin) != 1)
        return 1;
    for (size_t i = number > DRAWN ? number - DRAWN : 0; i < number; i++) {
        size_t at = i % DRAWN;
        if (drawn[at].before > begin)
            printf("%lx %lx %lx %lx\n", drawn[at].before, drawn[at].after, drawn[at].first, drawn[at].last);
    }
    return 0;
}

int main(int count, char **words) {
    setvbuf(stdout, NULL, _IOFBF, MIB);
    if (count == 3 && !strcmp(words[1], "ways"))
        return ways(words[2]);
    if (count == 3 && !strcmp(words[1], "refusals"))
        return refusals(words[2]);
    if (count == 3 && !strcmp(words[1], "huge"))
        return huge_read(words[2]);
    if (count == 3 && !strcmp(words[1], "signal"))
        return signaled(words[2]);
    if (count == 3 && !strcmp(words[1], "readers"))
        return readers(words[2]);
    if (count == 2 && !strcmp(words[1], "now"))
        return printf("%llx\n", __rdtsc()) < 0;
    if (count == 5 && !strcmp(words[1], "draws"))
        return draws(words[2], (size_t)atol(words[3]), words[4]);
    return 2;
}
