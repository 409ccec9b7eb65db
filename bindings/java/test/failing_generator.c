/* Stands for the native library: a generator that always fails, so that each draw from squall throws an exception. */

unsigned char Java_org_squallrng_Native_fill(void *env, void *class, void *array, int length, unsigned char fresh);

unsigned char Java_org_squallrng_Native_fill(void *env, void *class, void *array, int length, unsigned char fresh)
{
    (void)env, (void)class, (void)array, (void)length, (void)fresh;
    return 0;
}
