/* A library whose constructor draws before other constructors run. */
#include "report.h"

unsigned char drawn_in_constructor[3][16];

__attribute__((constructor(101))) static void draw(void) {
    CHECK(getrandom(drawn_in_constructor[0], 16, 0) == 16);
    CHECK(getentropy(drawn_in_constructor[1], 16) == 0);
    int fd = open("/dev/urandom", O_RDONLY);
    CHECK(read(fd, drawn_in_constructor[2], 16) == 16);
    CHECK(close(fd) == 0);
}
