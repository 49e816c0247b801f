#include "sampler/base/thread.h"

#include <signal.h>
#include <stddef.h>

int thread_start(pthread_t *out, void *(*run)(void *context), void *context)
{
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    int sys = pthread_attr_init(&attributes);
    if (sys)
        return sys;
    pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    sys = pthread_create(&thread, &attributes, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (sys == 0 && out)
        *out = thread;
    else if (sys == 0)
        pthread_detach(thread);
    return sys;
}
