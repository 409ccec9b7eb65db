/* A provider for tests only. Its generator NAIVE counts and ignores forks: a child repeats what its parent draws, and a
 * test that compares them must find the repeats. */
#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/params.h>
#include <stdatomic.h>
#include <string.h>

static atomic_ulong count;
static int context;

static void *new_context(void *provider, void *parent, const OSSL_DISPATCH *functions)
{
    return &context;
}

static void free_context(void *vcontext)
{
}

static int instantiate(void *vcontext, unsigned int strength, int resistance,
                       const unsigned char *text, size_t len, const OSSL_PARAM params[])
{
    return 1;
}

static int succeed(void *vcontext)
{
    return 1;
}

static int naive(void *vcontext, unsigned char *out, size_t len, unsigned int strength,
                 int resistance, const unsigned char *input, size_t input_len)
{
    while (len > 0) {
        unsigned long word = atomic_fetch_add(&count, 1) * 0x9e3779b97f4a7c15;
        size_t part = len < sizeof(word) ? len : sizeof(word);

        memcpy(out, &word, part);
        out += part;
        len -= part;
    }
    return 1;
}

static int get_params(void *vcontext, OSSL_PARAM params[])
{
    for (; params->key != NULL; params++) {
        if (strcmp(params->key, OSSL_RAND_PARAM_MAX_REQUEST) == 0) {
            if (!OSSL_PARAM_set_size_t(params, 0x7fffffff))
                return 0;
        } else if (strcmp(params->key, OSSL_RAND_PARAM_STATE) == 0) {
            if (!OSSL_PARAM_set_int(params, 1))
                return 0;
        }
    }
    return 1;
}

static const OSSL_DISPATCH naive_functions[] = {
    { OSSL_FUNC_RAND_NEWCTX, (void (*)(void))new_context },
    { OSSL_FUNC_RAND_FREECTX, (void (*)(void))free_context },
    { OSSL_FUNC_RAND_INSTANTIATE, (void (*)(void))instantiate },
    { OSSL_FUNC_RAND_UNINSTANTIATE, (void (*)(void))succeed },
    { OSSL_FUNC_RAND_GENERATE, (void (*)(void))naive },
    { OSSL_FUNC_RAND_ENABLE_LOCKING, (void (*)(void))succeed },
    { OSSL_FUNC_RAND_GET_CTX_PARAMS, (void (*)(void))get_params },
    { 0, NULL }
};

static const OSSL_ALGORITHM generators[] = {
    { "NAIVE", "provider=control", naive_functions, NULL },
    { NULL, NULL, NULL, NULL }
};

static const OSSL_ALGORITHM *query(void *provider, int operation, int *no_cache)
{
    *no_cache = 0;
    return operation == OSSL_OP_RAND ? generators : NULL;
}

static const OSSL_DISPATCH functions[] = {
    { OSSL_FUNC_PROVIDER_QUERY_OPERATION, (void (*)(void))query },
    { 0, NULL }
};

OSSL_provider_init_fn OSSL_provider_init;

int OSSL_provider_init(const OSSL_CORE_HANDLE *handle, const OSSL_DISPATCH *in,
                       const OSSL_DISPATCH **out, void **provider)
{
    *out = functions;
    *provider = &context;
    return 1;
}
