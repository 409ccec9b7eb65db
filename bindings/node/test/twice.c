/* A module for Node.js that loads the module SQUALL twice with its own environment, into exports 0 and 1. */

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

int napi_create_object(void *env, void **object);
int napi_set_element(void *env, void *object, uint32_t index, void *value);

void *napi_register_module_v1(void *env, void *exports)
{
    void *symbol = dlsym(dlopen(SQUALL, RTLD_NOW), "napi_register_module_v1");
    void *(*load)(void *, void *);

    if (symbol == NULL)
        return exports;
    memcpy(&load, &symbol, sizeof load);
    for (uint32_t index = 0; index < 2; index++) {
        void *loaded;

        if (napi_create_object(env, &loaded) != 0)
            return exports;
        napi_set_element(env, exports, index, load(env, loaded));
    }
    return exports;
}
