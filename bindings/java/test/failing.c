/* A library for Java whose generator always fails: what draws from it throws an exception. */

unsigned char Java_org_squallrng_Native_fill(void *env, void *class, void *array, unsigned char fresh);

unsigned char Java_org_squallrng_Native_fill(void *env, void *class, void *array, unsigned char fresh)
{
    (void)env, (void)class, (void)array, (void)fresh;
    return 0;
}
