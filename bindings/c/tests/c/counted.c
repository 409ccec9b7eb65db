/* A request of each kind, and some that draw nothing. */

#include <squall.h>

#include <stdlib.h>

int main(void)
{
    unsigned char bytes[200];
    const int drawn = squall_fill(bytes, 100) == SQUALL_OK &&
                      squall_fill_fresh(bytes, 200) == SQUALL_OK;

    (void)squall_u32();
    (void)squall_u64();
    (void)squall_uniform(2);
    (void)squall_uniform(1);
    return drawn && squall_fill(NULL, 1) == SQUALL_E_NULL ? EXIT_SUCCESS : EXIT_FAILURE;
}
