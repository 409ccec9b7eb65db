/*
 * Uses /dev/squall-vmgenid in all ways, for the tests of the kernel module:
 *
 *   vmgenid id                 the ID, read and mapped, and its offset
 *   vmgenid refusals           what open, mmap, mprotect, mremap, write and ioctl answer
 *   vmgenid watch              the ID, and in the same mapping the next one, when it has come
 *   vmgenid hold COUNT         COUNT processes keep the page mapped
 *   vmgenid storm COUNT SEED   COUNT random calls as another user: each must fail or give the right
 *                              bytes
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define DEVICE "/dev/squall-vmgenid"
#define ID_LEN 16
#define NOBODY 65534

struct head {
    unsigned char id[ID_LEN];
    uint64_t offset;
};

static size_t page_size;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static int open_device(void) {
    int device = open(DEVICE, O_RDONLY);

    if (device < 0)
        fail("open");
    return device;
}

static struct head read_head(int device) {
    struct head head;

    if (pread(device, &head, sizeof head, 0) != sizeof head)
        fail("read");
    return head;
}

static unsigned char *map_page(int device) {
    unsigned char *page = mmap(NULL, page_size, PROT_READ, MAP_SHARED, device, 0);

    if (page == MAP_FAILED)
        fail("mmap");
    return page;
}

static void print_id(const char *name, const unsigned char *id) {
    printf("%s ", name);
    for (int i = 0; i < ID_LEN; i++)
        printf("%02x", id[i]);
    printf("\n");
    fflush(stdout);
}

static void id(void) {
    int device = open_device();
    struct head head = read_head(device);
    unsigned char *page = map_page(device);

    print_id("read", head.id);
    print_id("mapped", page + head.offset);
    printf("offset %llu\n", (unsigned long long)head.offset);
}

static void answer(const char *name, int refused) {
    printf("%s: %s\n", name, refused ? strerrorname_np(errno) : "yes");
}

static void try_open(const char *name, int flags) {
    answer(name, open(DEVICE, flags) < 0);
}

static void try_map(const char *name, size_t len, int protection, int flags, off_t offset) {
    void *page = mmap(NULL, len, protection, flags, open_device(), offset);

    answer(name, page == MAP_FAILED);
}

static void refusals(void) {
    int device = open_device();
    unsigned char *page = map_page(device);
    const int both = PROT_READ | PROT_WRITE;

    try_open("open to write", O_WRONLY);
    try_open("open to read and write", O_RDWR);
    try_map("one page", page_size, PROT_READ, MAP_SHARED, 0);
    try_map("one byte", 1, PROT_READ, MAP_SHARED, 0);
    try_map("two pages", 2 * page_size, PROT_READ, MAP_SHARED, 0);
    try_map("the next page", page_size, PROT_READ, MAP_SHARED, page_size);
    try_map("to write", page_size, both, MAP_SHARED, 0);
    try_map("to execute", page_size, PROT_READ | PROT_EXEC, MAP_SHARED, 0);
    try_map("no access", page_size, PROT_NONE, MAP_SHARED, 0);
    try_map("private", page_size, PROT_READ, MAP_PRIVATE, 0);
    try_map("private, to write", page_size, both, MAP_PRIVATE, 0);
    answer("protect to write", mprotect(page, page_size, both));
    answer("protect to execute", mprotect(page, page_size, PROT_READ | PROT_EXEC));
    answer("grow", mremap(page, page_size, 2 * page_size, MREMAP_MAYMOVE) == MAP_FAILED);
    answer("write", write(device, page, 1) < 0);
    answer("ioctl", ioctl(device, TCGETS, &page_size) < 0);
}

static void watch(void) {
    const struct timespec pause = { .tv_nsec = 1000 * 1000 };
    int device = open_device();
    struct head head = read_head(device);
    const unsigned char *now = map_page(device) + head.offset;

    print_id("before", now);
    while (!memcmp((const void *)now, head.id, ID_LEN))
        nanosleep(&pause, NULL);
    print_id("mapped", now);
    head = read_head(device);
    print_id("read", head.id);
}

static void hold(int count) {
    int ready[2];
    char byte = 0;

    if (pipe(ready))
        fail("pipe");
    for (int i = 0; i < count; i++) {
        pid_t child = fork();

        if (child < 0)
            fail("fork");
        if (!child) {
            int device = open_device();
            struct head head = read_head(device);
            unsigned char *page = map_page(device);

            /* The mapping alone must keep the module. */
            close(device);
            if (!memcmp(page + head.offset, head.id, ID_LEN) && write(ready[1], &byte, 1) != 1)
                fail("write");
            for (;;)
                pause();
        }
    }
    for (int i = 0; i < count; i++)
        if (read(ready[0], &byte, 1) != 1)
            fail("read");
    printf("held\n");
    fflush(stdout);
    for (;;)
        pause();
}

/* Bits that need not be good, only different (Marsaglia's xorshift). */
static uint64_t bits;

static uint64_t random_below(uint64_t bound) {
    bits ^= bits << 13;
    bits ^= bits >> 7;
    bits ^= bits << 17;
    return bits % bound;
}

/* Few values, of which many are nearly right. */
static uint64_t random_number(void) {
    const uint64_t numbers[] = { 0, 0, 0, 1, 8, 23, 24, 25, page_size - 1, page_size, page_size,
                                 page_size, page_size + 1, 2 * page_size, 1ULL << 31, 1ULL << 40 };

    return numbers[random_below(sizeof numbers / sizeof *numbers)];
}

/* Each returns 1 for right bytes, 0 for an error, and ends the program otherwise. */
static int random_map(int device, const struct head *head) {
    const int kinds[] = { MAP_SHARED, MAP_SHARED, MAP_PRIVATE, MAP_SHARED_VALIDATE };
    const int flags[] = { 0, 0, MAP_POPULATE, MAP_NORESERVE, MAP_LOCKED, MAP_HUGETLB };
    size_t len = random_number();
    off_t offset = random_number();
    int protection = random_below(2) ? PROT_READ : random_below(8);
    int flag = kinds[random_below(4)] | flags[random_below(6)];
    unsigned char *page = mmap(NULL, len, protection, flag, device, offset);

    if (page == MAP_FAILED)
        return 0;
    if (protection != PROT_READ || len > page_size || offset ||
        memcmp(page + head->offset, head->id, ID_LEN)) {
        printf("mmap %zu, %d, %#x, %lld\n", len, protection, flag, (long long)offset);
        exit(1);
    }
    if (!mprotect(page, page_size, PROT_READ | PROT_WRITE)) {
        printf("mprotect\n");
        exit(1);
    }
    munmap(page, page_size);
    return 1;
}

static int random_read(int device, const struct head *head) {
    static unsigned char buffer[8192];
    size_t len = random_below(sizeof buffer);
    off_t offset = random_number();
    ssize_t got = pread(device, buffer, len, offset);

    if (got < 0)
        return 0;
    if (got > 0 && ((size_t)offset + got > sizeof *head ||
                    memcmp(buffer, (const char *)head + offset, got))) {
        printf("read %zu at %lld: %zd\n", len, (long long)offset, got);
        exit(1);
    }
    return 1;
}

static int random_ioctl(int device) {
    static unsigned char argument[8192];

    if (ioctl(device, (unsigned long)(random_below(2) ? random_number() : bits), argument) < 0)
        return 0;
    printf("ioctl\n");
    exit(1);
}

static void storm(int count, uint64_t seed) {
    int right = 0;

    if (setgid(NOBODY) || setuid(NOBODY))
        fail("setuid");
    int device = open_device();
    struct head head = read_head(device);

    bits = seed;
    for (int i = 0; i < count; i++) {
        switch (random_below(3)) {
        case 0: right += random_map(device, &head); break;
        case 1: right += random_read(device, &head); break;
        case 2: right += random_ioctl(device); break;
        }
    }
    printf("right %d\nerrors %d\n", right, count - right);
}

int main(int count, char **words) {
    const char *word = count > 1 ? words[1] : "";

    page_size = sysconf(_SC_PAGESIZE);
    if (!strcmp(word, "id"))
        id();
    else if (!strcmp(word, "refusals"))
        refusals();
    else if (!strcmp(word, "watch"))
        watch();
    else if (!strcmp(word, "hold") && count == 3)
        hold(atoi(words[2]));
    else if (!strcmp(word, "storm") && count == 4)
        storm(atoi(words[2]), strtoull(words[3], NULL, 10));
    else
        return 2;
    return 0;
}
