/* Reads are cancellation points, and are interrupted by signals. */
#include "report.h"
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>

static int ends[2];
static int device;
static int was_cleaned;
static volatile int has_begun;
static volatile long device_reads;

static void clean(void *argument) {
    (void)argument;
    was_cleaned++;
}

static void *read_pipe(void *argument) {
    char byte;
    pthread_cleanup_push(clean, NULL);
    has_begun = 1;
    CHECK(read(ends[0], &byte, 1) == 1);
    pthread_cleanup_pop(0);
    return argument;
}

static void *readv_pipe(void *argument) {
    char byte;
    struct iovec buffer = {&byte, 1};
    pthread_cleanup_push(clean, NULL);
    has_begun = 1;
    CHECK(readv(ends[0], &buffer, 1) == 1);
    pthread_cleanup_pop(0);
    return argument;
}

static void *open_fifo(void *argument) {
    pthread_cleanup_push(clean, NULL);
    has_begun = 1;
    open(argument, O_RDONLY);
    pthread_cleanup_pop(0);
    return argument;
}

static void *read_device(void *argument) {
    unsigned char bytes[16];
    pthread_cleanup_push(clean, NULL);
    has_begun = 1;
    for (;; device_reads++) CHECK(read(device, bytes, 16) == 16);
    pthread_cleanup_pop(0);
    return argument;
}

static void *wait_for_record_lock(void *argument) {
    struct flock lock = {.l_type = F_WRLCK};
    pthread_cleanup_push(clean, NULL);
    has_begun = 1;
    CHECK(fcntl(*(int *)argument, F_OFD_SETLKW, &lock) == 0);
    pthread_cleanup_pop(0);
    return argument;
}

static void check_cancellation(const char *what, void *(*work)(void *), void *argument) {
    pthread_t thread;
    void *result;
    has_begun = 0;
    CHECK(pthread_create(&thread, NULL, work, argument) == 0);
    /* The thread usually waits by then; otherwise the cancellation acts when it begins to wait. */
    do usleep(50000);
    while (!has_begun || (work == read_device && device_reads < 1000));
    CHECK(pthread_cancel(thread) == 0 && pthread_join(thread, &result) == 0);
    printf("%s: %s, %d\n", what, result == PTHREAD_CANCELED ? "cancelled" : "ended", was_cleaned);
    fflush(stdout);
}

static void handle(int signal) { (void)signal; }

int main(void) {
    char folder[] = "/tmp/squall-test-XXXXXX", path[64];
    char byte;
    CHECK(pipe(ends) == 0);
    device = open("/dev/urandom", O_RDONLY);
    check_cancellation("read", read_pipe, NULL);
    check_cancellation("readv", readv_pipe, NULL);
    check_cancellation("a device", read_device, NULL);
    CHECK(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/fifo", folder);
    CHECK(mkfifo(path, 0600) == 0);
    check_cancellation("open", open_fifo, path);
    CHECK(unlink(path) == 0);
    snprintf(path, sizeof path, "%s/file", folder);
    int locked = open(path, O_CREAT | O_RDWR, 0600), waits = open(path, O_RDWR);
    struct flock lock = {.l_type = F_WRLCK};
    CHECK(fcntl(locked, F_OFD_SETLK, &lock) == 0);
    check_cancellation("fcntl", wait_for_record_lock, &waits);
    CHECK(unlink(path) == 0 && rmdir(folder) == 0);
    /* A read interrupted by a signal. */
    struct sigaction action = {.sa_handler = handle};
    struct itimerval soon = {{.tv_usec = 50000}, {.tv_usec = 50000}}, never = {0};
    CHECK(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &soon, NULL) == 0);
    PRINT(read(ends[0], &byte, 1));
    CHECK(setitimer(ITIMER_REAL, &never, NULL) == 0);
    counted_at_least("device", 1000);
    return 0;
}
