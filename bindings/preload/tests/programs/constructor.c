/* A library whose constructor draws, before that of whoever comes later. */
#include "said.h"

unsigned char drawn_in_constructor[3][16];

__attribute__((constructor(101))) static void draw(void) {
    MUST(getrandom(drawn_in_constructor[0], 16, 0) == 16);
    MUST(getentropy(drawn_in_constructor[1], 16) == 0);
    int fd = open("/dev/urandom", O_RDONLY);
    MUST(read(fd, drawn_in_constructor[2], 16) == 16);
    MUST(close(fd) == 0);
}
