/*
 * scoped - locals that clean up after themselves.
 *
 *     SCOPED_FD int fd = open(...);       closed at the end of the scope unless -1
 *     SCOPED_FREE char *text = malloc(n); freed at the end of the scope
 */
#ifndef SAMPLER_BASE_SCOPED_H
#define SAMPLER_BASE_SCOPED_H

#include <stdlib.h>
#include <unistd.h>

static inline void scoped_close(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

static inline void scoped_free(void *pointer)
{
    free(*(void **)pointer);
}

/* Hands the descriptor over to the caller: the scope no longer closes it. */
static inline int scoped_take_fd(int *fd)
{
    const int taken = *fd;
    *fd = -1;
    return taken;
}

#define SCOPED_FD   __attribute__((cleanup(scoped_close)))
#define SCOPED_FREE __attribute__((cleanup(scoped_free)))

#endif /* SAMPLER_BASE_SCOPED_H */
