/* Calls the library named as argument as Java does, in a thread on memory of this program's own, and searches that for
 * the random bytes: while they are copied to the array, when they must be there, and after the call, when they must not.
 * Link it with `-z now`: when the loader looks a function up, it saves vector registers on the stack. */

#define _GNU_SOURCE /* memmem */
#include <dlfcn.h>
#include <jni.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 16, LONGEST = 5 * 4096, STACK_SIZE = 1 << 20 };

static _Alignas(4096) unsigned char stack[STACK_SIZE];
static unsigned char drawn[LONGEST];
static jint wanted;
static int are_in_use;
static jboolean (*fill)(JNIEnv *, jclass, jbyteArray, jint, jboolean);

/* Whether any of these bytes of the array are on the stack. */
static int are_on_stack(jint start, jint end)
{
    for (; start + BLOCK <= end; start += BLOCK)
        if (memmem(stack, sizeof stack, drawn + start, BLOCK) != NULL)
            return 1;
    return 0;
}

static void copy(JNIEnv *env, jbyteArray array, jsize start, jsize length, const jbyte *bytes)
{
    (void)env, (void)array;
    memcpy(drawn + start, bytes, (size_t)length);
    are_in_use = are_on_stack(start, start + length);
}

static void *call(void *functions)
{
    const struct JNINativeInterface_ *table = functions;

    return fill(&table, NULL, NULL, wanted, JNI_FALSE) ? functions : NULL;
}

static int leaves_nothing(jint length)
{
    static struct JNINativeInterface_ functions = {.SetByteArrayRegion = copy};
    pthread_attr_t attributes;
    pthread_t thread;
    void *filled;

    wanted = length;
    are_in_use = 0;
    if (pthread_attr_init(&attributes) != 0 || pthread_attr_setstack(&attributes, stack, sizeof stack) != 0
        || pthread_create(&thread, &attributes, call, &functions) != 0 || pthread_join(thread, &filled) != 0)
        return 0;
    return filled != NULL && are_in_use && !are_on_stack(0, length);
}

int main(int count, char **arguments)
{
    static const jint lengths[] = {16, 64, 80, 4096, LONGEST};
    void *library = count == 2 ? dlopen(arguments[1], RTLD_NOW) : NULL;
    void *symbol = library != NULL ? dlsym(library, "Java_org_squallrng_Native_fill") : NULL;

    if (symbol == NULL)
        return EXIT_FAILURE;
    memcpy(&fill, &symbol, sizeof fill);
    for (size_t at = 0; at < sizeof lengths / sizeof *lengths; at++)
        if (!leaves_nothing(lengths[at])) {
            fprintf(stderr, "a request of %d bytes leaves some on the stack\n", lengths[at]);
            return EXIT_FAILURE;
        }
    return EXIT_SUCCESS;
}
