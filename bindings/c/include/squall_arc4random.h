/*
 * squall under the names of arc4random(3), for programs that are written for them: include this
 * file in the place of <bsd/stdlib.h>, and link with libsquall.
 *
 *   arc4random()             a random number below 2^32
 *   arc4random_buf(buf, len) len random bytes at buf
 *   arc4random_uniform(n)    a random number below n, each equally likely; 0 if n is 0 or 1
 *
 * They hide those of <stdlib.h> in this file of the program, and change nothing elsewhere: code that
 * is compiled already keeps the C library's.
 *
 * All are made of the bytes of squall_fill and not of squall_u32, because programs make keys of
 * them: none is repeated by a forked child or by a clone of the virtual machine, within the limits
 * of squall_fill. Any thread, and signal handlers. They cannot fail: where there is no source of
 * randomness at all, the program is aborted, as it is for a buffer that is null.
 */

#ifndef SQUALL_ARC4RANDOM_H
#define SQUALL_ARC4RANDOM_H

#include <stddef.h>
#include <stdint.h>
/* First, so that its declarations keep their names. */
#include <stdlib.h>

#include "squall.h"

static inline void squall_arc4random_buf(void *buf, size_t len)
{
    if (squall_fill(buf, len) != SQUALL_OK)
        abort();
}

static inline uint32_t squall_arc4random(void)
{
    uint32_t number;
    squall_arc4random_buf(&number, sizeof number);
    return number;
}

static inline uint32_t squall_arc4random_uniform(uint32_t bound)
{
    return (uint32_t)squall_uniform(bound);
}

#undef arc4random
#undef arc4random_buf
#undef arc4random_uniform
#define arc4random squall_arc4random
#define arc4random_buf squall_arc4random_buf
#define arc4random_uniform squall_arc4random_uniform

#endif /* SQUALL_ARC4RANDOM_H */
