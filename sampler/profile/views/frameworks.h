/*
 * frameworks - the functions of web frameworks and task queues that serve requests, by the names of files and functions.
 *
 * An answer is a guess: a program may call its own functions and files the same.
 *
 * Threads: any.
 */
#ifndef SAMPLER_PROFILE_VIEWS_FRAMEWORKS_H
#define SAMPLER_PROFILE_VIEWS_FRAMEWORKS_H

#include <stdbool.h>
#include <stddef.h>

#include "sampler/base/strtab.h"

enum framework_role {
    FRAMEWORK_NONE,       /* no function of interest */
    FRAMEWORK_CALL,       /* one call of it serves one request */
    FRAMEWORK_AWAIT,      /* the same of a coroutine */
    FRAMEWORK_DISPATCH,   /* calls the function of the program that answers */
    FRAMEWORK_SERVE,      /* FRAMEWORK_CALL and FRAMEWORK_DISPATCH */
    FRAMEWORK_RUN,        /* FRAMEWORK_AWAIT and FRAMEWORK_DISPATCH */
    FRAMEWORK_WORKER,     /* a thread calls a function for a coroutine: FRAMEWORK_DISPATCH */
    FRAMEWORK_PREPARE,    /* calls functions of the program that do not answer */
    FRAMEWORK_CONNECTION, /* what it calls serves no single request */
};

static inline bool framework_begins(enum framework_role role)
{
    return role == FRAMEWORK_CALL || role == FRAMEWORK_AWAIT || role == FRAMEWORK_SERVE ||
           role == FRAMEWORK_RUN;
}
static inline bool framework_dispatches(enum framework_role role)
{
    return role == FRAMEWORK_DISPATCH || role == FRAMEWORK_SERVE || role == FRAMEWORK_RUN ||
           role == FRAMEWORK_WORKER;
}
static inline bool framework_is_async(enum framework_role role)
{
    return role == FRAMEWORK_AWAIT || role == FRAMEWORK_RUN;
}

/* The role of a function.  *folder_out: the length of the folder that its package is in. */
enum framework_role framework_role_of(struct strtab_string name, struct strtab_string file,
                                      size_t *folder_out);

/* May a function that a framework has called, directly or not, be one of the program that answers?  Not one of Python's library, nor of the
 * packages in that folder that call one another on the way there and back. */
bool framework_may_call(struct strtab_string name, struct strtab_string file,
                        const char *folder, size_t length);

#endif /* SAMPLER_PROFILE_VIEWS_FRAMEWORKS_H */
