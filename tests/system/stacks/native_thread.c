/*
 * native_thread - a thread that Python did not start, as libraries have them: it takes the
 * interpreter's lock once, gives it back and idles without ever running Python code.
 *
 * Loaded with ctypes.PyDLL; so it needs no header of any version of Python.
 */
#include <pthread.h>
#include <unistd.h>

extern int PyGILState_Ensure(void);
extern void *PyEval_SaveThread(void);
int native_thread_start(void);

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
