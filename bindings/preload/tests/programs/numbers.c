/* Descriptors that become a device, and another file again, in all possible ways. */
#include "report.h"
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#if __has_include(<sys/pidfd.h>)
#include <sys/pidfd.h>
#define HAS_PIDFD 1
#endif

/* The name of fcntl for large files. */
int fcntl64(int fd, int command, ...);

static long served;

/* Checks that the descriptor is a device: each read returns all the bytes. */
static void is_device(const char *how, int fd) {
    unsigned char bytes[32] = {0};
    CHECK(fd >= 0);
    errno = UNTOUCHED;
    CHECK(read(fd, bytes, 16) == 16 && pread(fd, bytes + 16, 16, 0) == 16 && errno == UNTOUCHED);
    CHECK(looks_drawn(bytes, 16) && looks_drawn(bytes + 16, 16));
    served += 2;
    printf("%s: a device\n", how);
}

/* Checks that the descriptor is a device, whose reads the kernel may serve: the library did not notice
   how it became one. */
static void is_kernel_served_device(const char *how, int fd) {
    unsigned char bytes[16] = {0};
    CHECK(read(fd, bytes, 16) == 16 && looks_drawn(bytes, 16));
    printf("%s: a device\n", how);
}

/* Checks three times that the descriptor is the file with the known contents. */
static void is_file(const char *how, int fd) {
    char bytes[64] = {0};
    for (int i = 0; i < 3; i++) {
        CHECK(pread(fd, bytes, sizeof bytes, 0) == 8 && !memcmp(bytes, "contents", 8));
        CHECK(lseek(fd, 0, SEEK_SET) == 0 && read(fd, bytes, sizeof bytes) == 8);
        CHECK(!memcmp(bytes, "contents", 8));
    }
    printf("%s: a file\n", how);
}

static int file(void) {
    int fd = memfd_create("file", 0);
    CHECK(fd >= 0 && write(fd, "contents", 8) == 8);
    return fd;
}

/* Checks a free descriptor, of which the library knows nothing, after it becomes a device unnoticed. */
static void is_stream(const char *how, int number) {
    FILE *stream = fopen("/dev/urandom", "r");
    CHECK(stream && fileno(stream) == number);
    is_device(how, number);
}

static int device(void) { return open("/dev/urandom", O_RDONLY); }

/* Changes a descriptor by duplicating another onto it. */
static void check_duplicates(void) {
    int from_file = file(), from_device = device(), number = dup(from_file);
    is_file("dup", number);
    for (int i = 0; i < 3; i++) {
        CHECK(dup2(from_device, number) == number);
        is_device("dup2", number);
        CHECK(dup2(from_file, number) == number);
        is_file("dup2", number);
        CHECK(dup3(from_device, number, O_CLOEXEC) == number);
        is_device("dup3", number);
        CHECK(dup3(from_file, number, O_CLOEXEC) == number);
        is_file("dup3", number);
        CHECK(syscall(SYS_dup3, from_device, number, 0) == number);
        is_kernel_served_device("dup3, unnoticed", number);
        CHECK(syscall(SYS_dup3, from_file, number, 0) == number);
        is_file("dup3, unnoticed", number);
        CHECK(dup2(from_device, number) == number);
        is_device("dup2", number);
        CHECK(syscall(SYS_dup3, from_file, number, 0) == number);
        is_file("dup3 over a device, unnoticed", number);
    }
    PRINT(dup2(-1, number));
    PRINT(dup2(number, number) - number);
    PRINT(dup2(1000, 1000));
    PRINT(dup3(number, number, 0));
    CHECK(close(number) == 0 && fcntl(from_device, F_DUPFD, number) == number);
    is_device("F_DUPFD", number);
    CHECK(close(number) == 0 && fcntl(from_file, F_DUPFD_CLOEXEC, number) == number);
    is_file("F_DUPFD_CLOEXEC", number);
    PRINT(fcntl(number, F_GETFD));
    PRINT(fcntl(number, F_SETFD, 0));
    PRINT(fcntl(number, F_GETFD));
    PRINT(fcntl(number, F_DUPFD, -1));
    struct flock lock = {.l_type = F_RDLCK};
    PRINT(fcntl(number, F_GETLK, &lock));
    PRINT(lock.l_type == F_UNLCK);
    CHECK(dup2(from_device, 70000) == 70000 || errno == EBADF);
    close(70000);
    CHECK(close(number) == 0 && close(from_file) == 0 && close(from_device) == 0);
}

/* A free descriptor that was a file when the library last checked it. */
static int freed_file(int from_file) {
    int number = syscall(SYS_dup, from_file);
    is_file("before", number);
    CHECK(syscall(SYS_close, number) == 0);
    return number;
}

/* After every call that returns a descriptor, the library checks it again. */
static void check_returned_descriptors(void) {
    int from_file = file(), from_device = device(), folder = open("/dev", O_RDONLY), number;
    /* Volatile, so that _FORTIFY_SOURCE calls the checked functions. */
    volatile int flags = O_RDONLY;
#define CHECK_RETURNED(expression)                                                                          \
    do {                                                                                           \
        number = freed_file(from_file);                                                                 \
        CHECK((expression) == number);                                                              \
        is_device(#expression, number);                                                            \
        CHECK(syscall(SYS_close, number) == 0);                                                     \
    } while (0)
    CHECK_RETURNED(open("/dev/urandom", O_RDONLY, 0));
    CHECK_RETURNED(open("/dev/urandom", flags));
    CHECK_RETURNED(open64("/dev/random", O_RDONLY, 0));
    CHECK_RETURNED(open64("/dev/random", flags));
    CHECK_RETURNED(openat(folder, "urandom", O_RDONLY, 0));
    CHECK_RETURNED(openat(folder, "urandom", flags));
    CHECK_RETURNED(openat64(folder, "random", O_RDONLY, 0));
    CHECK_RETURNED(openat64(folder, "random", flags));
    CHECK_RETURNED(dup(from_device));
    CHECK_RETURNED(fcntl(from_device, F_DUPFD, number));
    CHECK_RETURNED(fcntl(from_device, F_DUPFD_CLOEXEC, number));
    CHECK_RETURNED(fcntl64(from_device, F_DUPFD, number));
#ifdef HAS_PIDFD
    int process = pidfd_open(getpid(), 0);
    CHECK_RETURNED(pidfd_getfd(process, from_device, 0));
    CHECK(close(process) == 0);
#endif
    CHECK(close(from_file) == 0 && close(from_device) == 0 && close(folder) == 0);
}

/* A descriptor is closed and its number reused. */
static void check_reuse(void) {
    int first = device(), number = first;
    is_device("open", number);
    for (int i = 0; i < 3; i++) {
        CHECK(close(number) == 0 && file() == number);
        is_file("closed", number);
        CHECK(close_range(number, number, 0) == 0);
        is_stream("close_range", number);
        CHECK(close_range(number, ~0u, 0) == 0 && file() == number);
        is_file("close_range", number);
        closefrom(number);
        is_stream("closefrom", number);
        CHECK(syscall(SYS_close, number) == 0 && file() == number);
        is_file("closed, unnoticed", number);
        CHECK(syscall(SYS_close, number) == 0);
        CHECK(syscall(SYS_openat, AT_FDCWD, "/dev/random", O_RDONLY) == number);
        is_kernel_served_device("opened, unnoticed", number);
        CHECK(close(number) == 0);
        FILE *stream = fopen("/dev/urandom", "r");
        CHECK(stream && fileno(stream) == number);
        is_device("fopen", number);
        CHECK(fgetc(stream) != EOF && fclose(stream) == 0 && file() == number);
        is_file("fclose", number);
        stream = fdopen(number, "r");
        CHECK(stream && fclose(stream) == 0 && device() == number);
        is_device("fclose", number);
    }
    CHECK(close(number) == 0);
}

/* A device by other names. */
static void check_names(void) {
    char path[64], link[] = "/tmp/squall-test-XXXXXX";
    int fd = device(), folder = open("/dev", O_RDONLY | O_DIRECTORY);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int fd_by_name = open(path, O_RDONLY);
    is_device("/proc/self/fd", fd_by_name);
    close(fd_by_name);
    CHECK(mkdtemp(link));
    snprintf(path, sizeof path, "%s/link", link);
    CHECK(symlink("/dev/random", path) == 0);
    fd_by_name = open64(path, O_RDONLY);
    is_device("a link", fd_by_name);
    close(fd_by_name);
    CHECK(unlink(path) == 0 && rmdir(link) == 0);
    fd_by_name = openat(folder, "urandom", O_RDONLY);
    is_device("openat", fd_by_name);
    close(fd_by_name);
    fd_by_name = openat64(folder, "random", O_RDONLY | O_NONBLOCK);
    is_device("openat64", fd_by_name);
    close(fd_by_name);
    PRINT(open("/dev/nothing", O_RDONLY));
    PRINT(openat(folder, "nothing", O_RDONLY));
    PRINT(open(NULL, O_RDONLY));
    char folder_for_file[] = "/tmp/squall-test-XXXXXX";
    CHECK(mkdtemp(folder_for_file));
    snprintf(path, sizeof path, "%s/file", folder_for_file);
    umask(0);
    int created = open(path, O_CREAT | O_EXCL | O_RDWR, 0640);
    struct stat stat;
    CHECK(created >= 0 && fstat(created, &stat) == 0);
    printf("made with %o\n", stat.st_mode);
    PRINT(open(path, O_CREAT | O_EXCL | O_RDWR, 0640));
    CHECK(unlink(path) == 0 && rmdir(folder_for_file) == 0 && close(created) == 0);
    CHECK(close(fd) == 0 && close(folder) == 0);
}

/* Sends two descriptors, twice; `batch` receives them with recvmmsg. */
static void send_and_receive(int batch, int first, int second) {
    int ends[2], fds[2] = {first, second};
    char byte = 0;
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof fds)];
    } control = {0};
    struct iovec bytes = {&byte, 1};
    struct mmsghdr message = {.msg_hdr = {.msg_iov = &bytes,
                                          .msg_iovlen = 1,
                                          .msg_control = &control,
                                          .msg_controllen = sizeof control}};
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message.msg_hdr);
    *header = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
                               .cmsg_type = SCM_RIGHTS,
                               .cmsg_len = CMSG_LEN(sizeof fds)};
    memcpy(CMSG_DATA(header), fds, sizeof fds);
    CHECK(sendmsg(ends[1], &message.msg_hdr, 0) == 1);
    if (batch) CHECK(recvmmsg(ends[0], &message, 1, 0, NULL) == 1);
    else CHECK(recvmsg(ends[0], &message.msg_hdr, 0) == 1);
    header = CMSG_FIRSTHDR(&message.msg_hdr);
    CHECK(header && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof fds));
    memcpy(fds, CMSG_DATA(header), sizeof fds);
    is_device(batch ? "recvmmsg" : "recvmsg", fds[0]);
    is_file(batch ? "recvmmsg" : "recvmsg", fds[1]);
    CHECK(close(ends[0]) == 0 && close(ends[1]) == 0);
    /* The library does not notice these calls, so it still remembers the descriptors. */
    CHECK(syscall(SYS_close, fds[0]) == 0 && syscall(SYS_close, fds[1]) == 0);
}

int main(void) {
    check_duplicates();
    check_returned_descriptors();
    check_reuse();
    check_names();
    int from_device = device(), from_file = file();
    for (int i = 0; i < 4; i++) {
        send_and_receive(i / 2, from_device, from_file);
        /* The descriptors are files, and the library remembers that. */
        int numbers[8];
        for (int n = 0; n < 8; n++) {
            numbers[n] = syscall(SYS_dup, from_file);
            is_file("a file", numbers[n]);
        }
        for (int n = 0; n < 8; n++) CHECK(syscall(SYS_close, numbers[n]) == 0);
    }
    PRINT(recvmsg(from_file, &(struct msghdr){0}, 0));
    PRINT(recvmmsg(-1, NULL, 0, 0, NULL));
    PRINT(close(-1));
    PRINT(close_range(5, 4, 0));
    counted("device", served, 0);
    return 0;
}
