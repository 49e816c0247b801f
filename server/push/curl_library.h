/*
 * curl_library - libcurl, which is loaded once profiles are to be pushed.
 *
 * It brings seventeen other libraries with it: two megabytes, and half of the time that the program takes to start, for
 * something that few sessions do.  A static program has it from the start.
 *
 * Threads: any.
 */
#ifndef SERVER_PUSH_CURL_LIBRARY_H
#define SERVER_PUSH_CURL_LIBRARY_H

#include <curl/curl.h>

#include "sampler/base/err.h"

#define CURL_FUNCTIONS(X)  \
    X(easy_cleanup)        \
    X(easy_getinfo)        \
    X(easy_init)           \
    X(easy_setopt)         \
    X(easy_strerror)       \
    X(global_init)         \
    X(multi_add_handle)    \
    X(multi_cleanup)       \
    X(multi_info_read)     \
    X(multi_init)          \
    X(multi_perform)       \
    X(multi_poll)          \
    X(multi_remove_handle) \
    X(multi_wakeup)        \
    X(slist_append)        \
    X(slist_free_all)

/* The functions of libcurl, without "curl_" in front of their names. */
struct curl_library {
#define X(name) __typeof__(curl_##name) *name;
    CURL_FUNCTIONS(X)
#undef X
};

/* Loads libcurl and starts it, at first; stays loaded.  ERR_UNSUPPORTED: it is not there, or does not start. */
MUST_CHECK enum err_code curl_library_load(const struct curl_library **out, struct err *err);

#endif /* SERVER_PUSH_CURL_LIBRARY_H */
