/* A library whose constructor draws, which runs before the program's initialisers, and prints the file whose getrandom
   served. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

__attribute__((constructor)) static void draw(void)
{
    unsigned char bytes[2][32] = {{0}};
    Dl_info found;
    if (getrandom(bytes[0], 32, 0) != 32 || getrandom(bytes[1], 32, 0) != 32)
        puts("not served");
    else if (memcmp(bytes[0], bytes[1], 32) == 0)
        puts("the same bytes twice");
    else if (dladdr(dlsym(RTLD_DEFAULT, "getrandom"), &found))
        puts(found.dli_fname);
    fflush(stdout);
}
