/*
 * squall under the names of arc4random(3), for programs that call these functions: include this file
 * instead of <bsd/stdlib.h>, and link with libsquall.
 *
 *   arc4random()             a random number below 2^32
 *   arc4random_buf(buf, len) len random bytes at buf
 *   arc4random_uniform(n)    a random number below n, each equally likely; 0 if n is 0 or 1
 *
 * They hide the functions of <stdlib.h> in the source file that includes this header, and change
 * nothing elsewhere: code that was compiled before still calls the C library's functions.
 *
 * All of them take bytes from squall_fill and not from squall_u32, because programs make keys of
 * the results: a forked child or a clone of the virtual machine never repeats them, within the limits
 * of squall_fill. Threads and signal handlers may call them as they may call that. They cannot fail: if there is no
 * source of randomness at all, or the buffer is null, they abort the program.
 */

#ifndef SQUALL_ARC4RANDOM_H
#define SQUALL_ARC4RANDOM_H

#include <stddef.h>
#include <stdint.h>
/* This comes first, so that the macros below do not rename its declarations. */
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
