/* Stands for the native library: a generator that always fails, so that each draw from squall throws an exception, and
 * watches for clones, of which the first sees two clones and fails, and the second sees one. */

#include <unistd.h>

unsigned char Java_org_squallrng_Native_fill(void *env, void *class, void *array, int length, unsigned char fresh);
long long Java_org_squallrng_Native_newCloneWatch(void *env, void *class);
unsigned char Java_org_squallrng_Native_awaitClone(void *env, void *class, long long watch);

unsigned char Java_org_squallrng_Native_fill(void *env, void *class, void *array, int length, unsigned char fresh)
{
    (void)env, (void)class, (void)array, (void)length, (void)fresh;
    return 0;
}

long long Java_org_squallrng_Native_newCloneWatch(void *env, void *class)
{
    static long long watches;

    (void)env, (void)class;
    return ++watches;
}

unsigned char Java_org_squallrng_Native_awaitClone(void *env, void *class, long long watch)
{
    static int clones;

    (void)env, (void)class;
    if (watch == 1)
        return ++clones <= 2;
    while (++clones > 4)
        pause();
    return 1;
}
