#include "server/push/curl_library.h"

#include <pthread.h>
#include <stdbool.h>

#ifdef PYROMETER_CURL_FILE
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

static bool find_functions(struct curl_library *library)
{
    static const struct {
        const char *name;
        size_t at;
    } functions[] = {
#define X(name) { "curl_" #name, offsetof(struct curl_library, name) },
        CURL_FUNCTIONS(X)
#undef X
    };
    void *const file = dlopen(PYROMETER_CURL_FILE, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; file && i < sizeof functions / sizeof *functions; i++) {
        void *const function = dlsym(file, functions[i].name);
        if (!function)
            return false;
        memcpy((char *)library + functions[i].at, &function, sizeof function);
    }
    return file != NULL;
}

#define MISSING                                       \
    "profiles cannot be pushed: " PYROMETER_CURL_FILE \
    " (libcurl) is not installed, or older than 7.85"
#else
static bool find_functions(struct curl_library *library)
{
    *library = (struct curl_library){
#define X(name) .name = curl_##name,
        CURL_FUNCTIONS(X)
#undef X
    };
    return true;
}

#define MISSING ""
#endif

enum err_code curl_library_load(const struct curl_library **out, struct err *err)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static struct curl_library library;
    static bool is_found, is_started;
    pthread_mutex_lock(&mutex);
    if (!is_found)
        is_found = find_functions(&library);
    /* Files that it needs for TLS are loaded here, before the program may not load anything. */
    if (is_found && !is_started)
        is_started = library.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
    const bool is_usable = is_started, is_missing = !is_found;
    pthread_mutex_unlock(&mutex);
    *out = &library;
    if (is_usable)
        return ERR_OK;
    return err_set(err, ERR_UNSUPPORTED, is_missing ? MISSING : "libcurl does not start");
}
