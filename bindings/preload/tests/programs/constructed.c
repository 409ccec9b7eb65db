/* A program linked with the library of constructor.c. */
#include "report.h"

extern unsigned char drawn_in_constructor[3][16];

int main(void) {
    for (int i = 0; i < 3; i++) {
        printf("%s\n", looks_drawn(drawn_in_constructor[i], 16) ? "drawn" : "nothing");
    }
    counted_at_least("getrandom", 0);
    return 0;
}
