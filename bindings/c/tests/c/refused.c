/* Prints what functions return without a source of randomness. With an argument, the program draws a
 * number first, which aborts it. */

#include <squall.h>

#include <stdio.h>
#include <stdlib.h>

int main(int count, char **arguments)
{
    char bytes[4096];

    (void)arguments;
    if (count > 1)
        printf("%u\n", (unsigned int)squall_u32());
    printf("%d %d %d\n", squall_fill(bytes, 16), squall_fill_fresh(bytes, 16),
           squall_status_json(bytes, sizeof bytes));
    return EXIT_SUCCESS;
}
