/*
 * native_thread - a thread that Python did not start, as libraries have them: it takes the
 * interpreter's lock once, gives it back and idles without ever running Python code.  And a call that sleeps where nothing
 * interrupts it, as with a disk that does not answer: until the child of a vfork ends.
 *
 * Loaded with ctypes.PyDLL; so it needs no header of any version of Python.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

extern int PyGILState_Ensure(void);
extern void *PyEval_SaveThread(void);
int native_thread_start(void);
int native_thread_wait(void);

static void *idle(void *argument)
{
    (void)argument;
    (void)PyGILState_Ensure();
    (void)PyEval_SaveThread();
    for (;;)
        pause();
    return NULL;
}

int native_thread_start(void)
{
    pthread_t thread;
    return pthread_create(&thread, NULL, idle, NULL);
}

int native_thread_wait(void)
{
    const pid_t child = vfork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;)
            pause();
    }
    return child;
}
