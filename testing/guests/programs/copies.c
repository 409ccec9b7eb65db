/*
 * Draws what each line of its input asks for, until there are no more: a program of which copies are made by restoring
 * a checkpoint. It knows nothing of that.
 *
 *   draw 4 16    prints a line: a value of 4 bytes and one of 16, in hexadecimal
 *   fork 4 16    forks, and prints such a line in the child, and then one in the parent
 *
 * The argument names the generator: getrandom, arc4random, RAND_bytes, or the path of libsquall. Ends with 0 at the end of its
 * input, and with 1 if something cannot be had.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONGEST = 1024 };

typedef int draw_function(unsigned char *, size_t);

static int (*openssl)(unsigned char *, int);
static int (*squall_fill)(void *, size_t);
static uint32_t (*squall_u32)(void);
static uint64_t (*squall_u64)(void);

static int by_getrandom(unsigned char *out, size_t len) { return getrandom(out, len, 0) == (ssize_t)len; }

static int by_arc4random(unsigned char *out, size_t len) {
    arc4random_buf(out, len);
    return 1;
}

static int by_openssl(unsigned char *out, size_t len) { return openssl(out, (int)len) == 1; }

static int by_squall(unsigned char *out, size_t len) {
    if (len == 4) {
        uint32_t word = squall_u32();
        memcpy(out, &word, len);
    } else if (len == 8) {
        uint64_t word = squall_u64();
        memcpy(out, &word, len);
    } else {
        return squall_fill(out, len) == 0;
    }
    return 1;
}

static void *function(const char *path, const char *name) {
    void *library = dlopen(path, RTLD_NOW);
    void *found = library ? dlsym(library, name) : NULL;
    if (!found) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return found;
}

static draw_function *generator(const char *name) {
    if (!strcmp(name, "getrandom"))
        return by_getrandom;
    if (!strcmp(name, "arc4random"))
        return by_arc4random;
    if (!strcmp(name, "RAND_bytes")) {
        *(void **)&openssl = function("libcrypto.so.3", name);
        return by_openssl;
    }
    *(void **)&squall_fill = function(name, "squall_fill");
    *(void **)&squall_u32 = function(name, "squall_u32");
    *(void **)&squall_u64 = function(name, "squall_u64");
    return by_squall;
}

/* Prints the values whose lengths are in `lengths`. */
static int answer(draw_function *draw, char *lengths) {
    unsigned char value[LONGEST];
    for (char *word, *rest = lengths; (word = strtok_r(rest, " \n", &rest));) {
        size_t len = strtoul(word, NULL, 10);
        if (len > LONGEST || !draw(value, len))
            return 0;
        for (size_t i = 0; i < len; i++)
            printf("%02x", value[i]);
        putchar(' ');
    }
    putchar('\n');
    return fflush(stdout) == 0;
}

static int answer_in_child(draw_function *draw, const char *lengths) {
    char copy[LONGEST];
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(!answer(draw, strcpy(copy, lengths)));
    return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

int main(int argc, char **argv) {
    char line[LONGEST];
    draw_function *draw = argc == 2 ? generator(argv[1]) : NULL;
    if (!draw)
        return 1;
    while (fgets(line, sizeof line, stdin)) {
        char *lengths = line + strlen("draw ");
        if (*line == 'f' && !answer_in_child(draw, lengths))
            return 1;
        if (!answer(draw, lengths))
            return 1;
    }
    return 0;
}
