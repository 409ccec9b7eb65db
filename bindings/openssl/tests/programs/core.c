/* Imitates a core of OpenSSL, without libcrypto: claims the version of the first argument, or none,
 * loads the provider of the second, and prints whether the provider refuses to load. If it loads,
 * the program draws bytes as OpenSSL versions later than 3.0 do. */
#include <dlfcn.h>
#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *version;
static int handle_of_core;

static int get_params(const OSSL_CORE_HANDLE *handle, OSSL_PARAM params[])
{
    if ((const void *)handle != &handle_of_core || version == NULL)
        return 0;
    for (; params->key != NULL; params++)
        if (strcmp(params->key, OSSL_PROV_PARAM_CORE_VERSION) == 0
            && params->data_type == OSSL_PARAM_UTF8_PTR)
            *(const char **)params->data = version;
    return 1;
}

static void new_error(const OSSL_CORE_HANDLE *handle)
{
    printf("error %d\n", (const void *)handle == &handle_of_core);
}

static void set_error_debug(const OSSL_CORE_HANDLE *handle, const char *file,
                            int line, const char *function)
{
    printf("in %s\n", function);
}

static void vset_error(const OSSL_CORE_HANDLE *handle, uint32_t reason,
                       const char *format, va_list arguments)
{
    char text[200] = "";

    if (format != NULL)
        vsnprintf(text, sizeof(text), format, arguments);
    printf("%u: %s\n", (unsigned int)(reason & 0x3ffff), text);
}

/* OSSL_FUNC_PROVIDER_RANDOM_BYTES, which the headers of 3.0 do not have. */
#define RANDOM_BYTES 1032
typedef int random_bytes_fn(void *context, int which, void *buffer, size_t len,
                            unsigned int strength);

static int draw(random_bytes_fn *random_bytes, void *context)
{
    unsigned char bytes[3][1000] = { { 0 } };

    for (int which = 0; which < 2; which++)
        if (random_bytes(context, which, bytes[which], 1000, 256) != 1)
            return 0;
    return memcmp(bytes[0], bytes[1], 16) != 0
        && memcmp(bytes[0] + 984, bytes[2], 16) != 0
        && random_bytes(context, 0, bytes[2], 1000, 257) == 0
        && random_bytes(context, 0, NULL, 0, 0) == 1;
}

int main(int argc, char **argv)
{
    const OSSL_DISPATCH functions[] = {
        { OSSL_FUNC_CORE_GET_PARAMS, (void (*)(void))get_params },
        { OSSL_FUNC_CORE_NEW_ERROR, (void (*)(void))new_error },
        { OSSL_FUNC_CORE_SET_ERROR_DEBUG, (void (*)(void))set_error_debug },
        { OSSL_FUNC_CORE_VSET_ERROR, (void (*)(void))vset_error },
        { 0, NULL }
    };
    const OSSL_DISPATCH nothing[] = { { 0, NULL } };
    const OSSL_DISPATCH *out = NULL, *entry;
    void *context = NULL, *library;
    OSSL_provider_init_fn *init;
    int without_functions = strcmp(argv[1], "nothing") == 0;

    version = strcmp(argv[1], "none") == 0 ? NULL : argv[1];
    if ((library = dlopen(argv[2], RTLD_NOW)) == NULL)
        return 2;
    *(void **)&init = dlsym(library, "OSSL_provider_init");
    if (!init((const OSSL_CORE_HANDLE *)&handle_of_core,
              without_functions ? nothing : functions, &out, &context)) {
        printf("refused\n");
        return out != NULL || context != NULL;
    }
    printf("accepted\n");
    for (entry = out; entry->function_id != 0; entry++)
        if (entry->function_id == RANDOM_BYTES
            && draw((random_bytes_fn *)entry->function, context))
            printf("drawn\n");
    for (entry = out; entry->function_id != 0; entry++)
        if (entry->function_id == OSSL_FUNC_PROVIDER_TEARDOWN)
            ((OSSL_FUNC_provider_teardown_fn *)entry->function)(context);
    return 0;
}
