/* Numbers that come to mean a device, and something else again, in all ways there are. */
#include "said.h"
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#if __has_include(<sys/pidfd.h>)
#include <sys/pidfd.h>
#define HAS_PIDFD 1
#endif

/* Plain fcntl with large files, which has another name. */
int fcntl64(int fd, int command, ...);

static long served;

/* The number is a device: each read of it gets all it wants. */
static void is_device(const char *how, int fd) {
    unsigned char bytes[32] = {0};
    MUST(fd >= 0);
    errno = UNTOUCHED;
    MUST(read(fd, bytes, 16) == 16 && pread(fd, bytes + 16, 16, 0) == 16 && errno == UNTOUCHED);
    MUST(looks_drawn(bytes, 16) && looks_drawn(bytes + 16, 16));
    served += 2;
    printf("%s: a device\n", how);
}

/* The number is a device for the kernel alone, because nobody saw how it became one. */
static void is_unseen_device(const char *how, int fd) {
    unsigned char bytes[16] = {0};
    MUST(read(fd, bytes, 16) == 16 && looks_drawn(bytes, 16));
    printf("%s: a device\n", how);
}

/* The number is a file with these contents, three times. */
static void is_file(const char *how, int fd) {
    char bytes[64] = {0};
    for (int i = 0; i < 3; i++) {
        MUST(pread(fd, bytes, sizeof bytes, 0) == 8 && !memcmp(bytes, "contents", 8));
        MUST(lseek(fd, 0, SEEK_SET) == 0 && read(fd, bytes, sizeof bytes) == 8);
        MUST(!memcmp(bytes, "contents", 8));
    }
    printf("%s: a file\n", how);
}

static int file(void) {
    int fd = memfd_create("file", 0);
    MUST(fd >= 0 && write(fd, "contents", 8) == 8);
    return fd;
}

/* The number is free, nothing is known of it, and nobody sees how it becomes a device. */
static void is_stream(const char *how, int number) {
    FILE *stream = fopen("/dev/urandom", "r");
    MUST(stream && fileno(stream) == number);
    is_device(how, number);
}

static int device(void) { return open("/dev/urandom", O_RDONLY); }

/* What is on a number changes by duplicating onto it. */
static void duplicates(void) {
    int from_file = file(), from_device = device(), number = dup(from_file);
    is_file("dup", number);
    for (int i = 0; i < 3; i++) {
        MUST(dup2(from_device, number) == number);
        is_device("dup2", number);
        MUST(dup2(from_file, number) == number);
        is_file("dup2", number);
        MUST(dup3(from_device, number, O_CLOEXEC) == number);
        is_device("dup3", number);
        MUST(dup3(from_file, number, O_CLOEXEC) == number);
        is_file("dup3", number);
        MUST(syscall(SYS_dup3, from_device, number, 0) == number);
        is_unseen_device("dup3, unseen", number);
        MUST(syscall(SYS_dup3, from_file, number, 0) == number);
        is_file("dup3, unseen", number);
        MUST(dup2(from_device, number) == number);
        is_device("dup2", number);
        MUST(syscall(SYS_dup3, from_file, number, 0) == number);
        is_file("dup3 over a device, unseen", number);
    }
    SAY(dup2(-1, number));
    SAY(dup2(number, number) - number);
    SAY(dup2(1000, 1000));
    SAY(dup3(number, number, 0));
    MUST(close(number) == 0 && fcntl(from_device, F_DUPFD, number) == number);
    is_device("F_DUPFD", number);
    MUST(close(number) == 0 && fcntl(from_file, F_DUPFD_CLOEXEC, number) == number);
    is_file("F_DUPFD_CLOEXEC", number);
    SAY(fcntl(number, F_GETFD));
    SAY(fcntl(number, F_SETFD, 0));
    SAY(fcntl(number, F_GETFD));
    SAY(fcntl(number, F_DUPFD, -1));
    struct flock lock = {.l_type = F_RDLCK};
    SAY(fcntl(number, F_GETLK, &lock));
    SAY(lock.l_type == F_UNLCK);
    MUST(dup2(from_device, 70000) == 70000 || errno == EBADF);
    close(70000);
    MUST(close(number) == 0 && close(from_file) == 0 && close(from_device) == 0);
}

/* A free number that was a file when it was last looked at. */
static int stale(int from_file) {
    int number = syscall(SYS_dup, from_file);
    is_file("before", number);
    MUST(syscall(SYS_close, number) == 0);
    return number;
}

/* All that gives a number makes it looked at again. */
static void makers(void) {
    int from_file = file(), from_device = device(), folder = open("/dev", O_RDONLY), number;
    /* Not known when compiled, for _FORTIFY_SOURCE. */
    volatile int flags = O_RDONLY;
#define MAKES(expression)                                                                          \
    do {                                                                                           \
        number = stale(from_file);                                                                 \
        MUST((expression) == number);                                                              \
        is_device(#expression, number);                                                            \
        MUST(syscall(SYS_close, number) == 0);                                                     \
    } while (0)
    MAKES(open("/dev/urandom", O_RDONLY, 0));
    MAKES(open("/dev/urandom", flags));
    MAKES(open64("/dev/random", O_RDONLY, 0));
    MAKES(open64("/dev/random", flags));
    MAKES(openat(folder, "urandom", O_RDONLY, 0));
    MAKES(openat(folder, "urandom", flags));
    MAKES(openat64(folder, "random", O_RDONLY, 0));
    MAKES(openat64(folder, "random", flags));
    MAKES(dup(from_device));
    MAKES(fcntl(from_device, F_DUPFD, number));
    MAKES(fcntl(from_device, F_DUPFD_CLOEXEC, number));
    MAKES(fcntl64(from_device, F_DUPFD, number));
#ifdef HAS_PIDFD
    int process = pidfd_open(getpid(), 0);
    MAKES(pidfd_getfd(process, from_device, 0));
    MUST(close(process) == 0);
#endif
    MUST(close(from_file) == 0 && close(from_device) == 0 && close(folder) == 0);
}

/* A number is closed and given again. */
static void reuse(void) {
    int first = device(), number = first;
    is_device("open", number);
    for (int i = 0; i < 3; i++) {
        MUST(close(number) == 0 && file() == number);
        is_file("closed", number);
        MUST(close_range(number, number, 0) == 0);
        is_stream("close_range", number);
        MUST(close_range(number, ~0u, 0) == 0 && file() == number);
        is_file("close_range", number);
        closefrom(number);
        is_stream("closefrom", number);
        MUST(syscall(SYS_close, number) == 0 && file() == number);
        is_file("closed, unseen", number);
        MUST(syscall(SYS_close, number) == 0);
        MUST(syscall(SYS_openat, AT_FDCWD, "/dev/random", O_RDONLY) == number);
        is_unseen_device("opened, unseen", number);
        MUST(close(number) == 0);
        FILE *stream = fopen("/dev/urandom", "r");
        MUST(stream && fileno(stream) == number);
        is_device("fopen", number);
        MUST(fgetc(stream) != EOF && fclose(stream) == 0 && file() == number);
        is_file("fclose", number);
        stream = fdopen(number, "r");
        MUST(stream && fclose(stream) == 0 && device() == number);
        is_device("fclose", number);
    }
    MUST(close(number) == 0);
}

/* A device by other names. */
static void names(void) {
    char path[64], link[] = "/tmp/squall-test-XXXXXX";
    int fd = device(), folder = open("/dev", O_RDONLY | O_DIRECTORY);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int again = open(path, O_RDONLY);
    is_device("/proc/self/fd", again);
    close(again);
    MUST(mkdtemp(link));
    snprintf(path, sizeof path, "%s/link", link);
    MUST(symlink("/dev/random", path) == 0);
    again = open64(path, O_RDONLY);
    is_device("a link", again);
    close(again);
    MUST(unlink(path) == 0 && rmdir(link) == 0);
    again = openat(folder, "urandom", O_RDONLY);
    is_device("openat", again);
    close(again);
    again = openat64(folder, "random", O_RDONLY | O_NONBLOCK);
    is_device("openat64", again);
    close(again);
    SAY(open("/dev/nothing", O_RDONLY));
    SAY(openat(folder, "nothing", O_RDONLY));
    SAY(open(NULL, O_RDONLY));
    char made[] = "/tmp/squall-test-XXXXXX";
    MUST(mkdtemp(made));
    snprintf(path, sizeof path, "%s/file", made);
    umask(0);
    int created = open(path, O_CREAT | O_EXCL | O_RDWR, 0640);
    struct stat stat;
    MUST(created >= 0 && fstat(created, &stat) == 0);
    printf("made with %o\n", stat.st_mode);
    SAY(open(path, O_CREAT | O_EXCL | O_RDWR, 0640));
    MUST(unlink(path) == 0 && rmdir(made) == 0 && close(created) == 0);
    MUST(close(fd) == 0 && close(folder) == 0);
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
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message.msg_hdr);
    *header = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
                               .cmsg_type = SCM_RIGHTS,
                               .cmsg_len = CMSG_LEN(sizeof fds)};
    memcpy(CMSG_DATA(header), fds, sizeof fds);
    MUST(sendmsg(ends[1], &message.msg_hdr, 0) == 1);
    if (batch) MUST(recvmmsg(ends[0], &message, 1, 0, NULL) == 1);
    else MUST(recvmsg(ends[0], &message.msg_hdr, 0) == 1);
    header = CMSG_FIRSTHDR(&message.msg_hdr);
    MUST(header && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof fds));
    memcpy(fds, CMSG_DATA(header), sizeof fds);
    is_device(batch ? "recvmmsg" : "recvmsg", fds[0]);
    is_file(batch ? "recvmmsg" : "recvmsg", fds[1]);
    MUST(close(ends[0]) == 0 && close(ends[1]) == 0);
    /* Not seen, so that what is known of the numbers is from before. */
    MUST(syscall(SYS_close, fds[0]) == 0 && syscall(SYS_close, fds[1]) == 0);
}

int main(void) {
    duplicates();
    makers();
    reuse();
    names();
    int from_device = device(), from_file = file();
    for (int i = 0; i < 4; i++) {
        send_and_receive(i / 2, from_device, from_file);
        /* The numbers mean files, and are known to. */
        int numbers[8];
        for (int n = 0; n < 8; n++) {
            numbers[n] = syscall(SYS_dup, from_file);
            is_file("a file", numbers[n]);
        }
        for (int n = 0; n < 8; n++) MUST(syscall(SYS_close, numbers[n]) == 0);
    }
    SAY(recvmsg(from_file, &(struct msghdr){0}, 0));
    SAY(recvmmsg(-1, NULL, 0, 0, NULL));
    SAY(close(-1));
    SAY(close_range(5, 4, 0));
    counted("device", served, 0);
    return 0;
}
