// What programs that answer for drives have in common. Each has a directory, with files with which a test
// instructs it, a log of the commands, and the drive's state, which survives a power cut there.

#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SECTOR 512

static const char *directory;
static int kept;

static const char *path_of(const char *name) {
    static _Thread_local char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return path;
}

// Whether the directory has a file of this name.
static bool is_set(const char *name) {
    return access(path_of(name), F_OK) == 0;
}

// Adds a line to the log.
static void note(const char *line) {
    FILE *log = fopen(path_of("log"), "a");
    if (!log || fprintf(log, "%s\n", line) < 0 || fclose(log) != 0)
        err(1, "%s", path_of("log"));
}

// Reads the state that an earlier run has kept, if there was one.
static void remember(void *state, size_t len) {
    kept = open(path_of("operation"), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (kept < 0 || pread(kept, state, len, 0) < 0)
        err(1, "%s", path_of("operation"));
}

// Keeps the state, if it has changed.
static void keep(const void *state, size_t len) {
    static char last[64];
    if (memcmp(last, state, len) == 0)
        return;
    memcpy(last, state, len);
    if (pwrite(kept, state, len, 0) != (ssize_t)len || fdatasync(kept) < 0)
        err(1, "%s", path_of("operation"));
}

// Writes zeros over the contents of a drive.
static void erase(int image, uint64_t sectors) {
    static const uint8_t zeros[SECTOR];
    for (uint64_t at = 0; at < sectors; at++)
        if (pwrite(image, zeros, SECTOR, at * SECTOR) != SECTOR)
            err(1, "image");
}

// How far an operation with which a drive sanitizes itself is.
enum state { IDLE, AT_WORK, FAILED };

struct operation {
    enum state state;
    bool was_begun, succeeded, may_be_left;
    uint32_t word10;   // of the last Sanitize command of NVMe
    uint32_t progress; // of 65536
};

static void begin(struct operation *operation) {
    operation->state = AT_WORK;
    operation->was_begun = true;
    operation->succeeded = false;
    operation->progress = 0;
}

// A question about the operation takes it further; returns whether the contents are erased with this one.
static bool goes_on_to_erase(struct operation *operation) {
    if (operation->state != AT_WORK || (operation->progress >= 0x8000 && is_set("hold")))
        return false;
    operation->progress += 0x2000;
    if (operation->progress <= 0xffff)
        return false;
    operation->succeeded = !is_set("fail");
    operation->state = operation->succeeded ? IDLE : FAILED;
    return operation->succeeded;
}
