/* Draws, switches the cycle counter off, and draws again. With an argument, squall is not told. */

#include <squall.h>

#include <stdlib.h>
#include <sys/prctl.h>

static void draw_often(void)
{
    for (int draw = 0; draw < 5000; draw++)
        (void)squall_u64();
}

int main(int count, char **arguments)
{
    (void)arguments;
    draw_often();
    if (count == 1)
        squall_avoid_cycle_counter();
    (void)prctl(PR_SET_TSC, PR_TSC_SIGSEGV);
    draw_often();
    return EXIT_SUCCESS;
}
