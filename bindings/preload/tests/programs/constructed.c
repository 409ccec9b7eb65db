/* A program linked with a library (LIBRARY) whose constructor draws before other constructors run. */
#include "report.h"

#ifdef LIBRARY
unsigned char drawn_in_constructor[3][16];

__attribute__((constructor(101))) static void draw(void) {
    CHECK(getrandom(drawn_in_constructor[0], 16, 0) == 16);
    CHECK(getentropy(drawn_in_constructor[1], 16) == 0);
    int fd = open("/dev/urandom", O_RDONLY);
    CHECK(read(fd, drawn_in_constructor[2], 16) == 16);
    CHECK(close(fd) == 0);
}
#else
extern unsigned char drawn_in_constructor[3][16];

int main(void) {
    for (int i = 0; i < 3; i++) {
        printf("%s\n", looks_drawn(drawn_in_constructor[i], 16) ? "drawn" : "nothing");
    }
    counted_at_least("getrandom", 0);
    return 0;
}
#endif
