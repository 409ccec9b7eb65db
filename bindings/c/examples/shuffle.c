/* Shuffles the lines of standard input, at most 4096, with the functions of arc4random(3):
 * cc shuffle.c $(pkg-config --cflags --libs squall)
 *
 *   seq 52 | shuffle
 */

#include <squall_arc4random.h>

#include <stdio.h>
#include <string.h>

#define MAX_LINES 4096

int main(void)
{
    static char lines[MAX_LINES][128];
    static char *order[MAX_LINES];
    uint32_t count = 0;

    while (count < MAX_LINES && fgets(lines[count], sizeof lines[count], stdin) != NULL) {
        order[count] = lines[count];
        count++;
    }
    /* Each order is equally likely (Fisher and Yates; Knuth, algorithm 3.4.2P). */
    for (uint32_t left = count; left > 1; left--) {
        uint32_t chosen = arc4random_uniform(left);
        char *line = order[chosen];
        order[chosen] = order[left - 1];
        order[left - 1] = line;
    }
    for (uint32_t at = 0; at < count; at++)
        fputs(order[at], stdout);
    return EXIT_SUCCESS;
}
