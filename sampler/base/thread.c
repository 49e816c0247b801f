#include "sampler/base/thread.h"

#include <signal.h>
#include <stddef.h>

int thread_start(pthread_t *out, void *(*run)(void *context), void *context)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int sys = pthread_create(&thread, NULL, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (sys == 0 && out)
        *out = thread;
    else if (sys == 0)
        pthread_detach(thread);
    return sys;
}
