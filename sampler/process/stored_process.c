#include "sampler/process/stored_process.h"

#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct stored_process *processes[STORED_PROCESS_MAX]; /* by number */

enum err_code stored_process_add(struct stored_process *process, struct err *err)
{
    pthread_mutex_lock(&mutex);
    for (int i = 0; i < STORED_PROCESS_MAX && !process->number; i++)
        if (!processes[i]) {
            processes[i] = process;
            process->number = STORED_PROCESS_FIRST + i;
        }
    pthread_mutex_unlock(&mutex);
    return process->number ? ERR_OK
                           : err_set(err, ERR_LIMIT, "at most %d cores are open at a time",
                                     STORED_PROCESS_MAX);
}

void stored_process_remove(struct stored_process *process)
{
    if (!process->number)
        return;
    pthread_mutex_lock(&mutex);
    processes[process->number - STORED_PROCESS_FIRST] = NULL;
    pthread_mutex_unlock(&mutex);
    process->number = 0;
}

struct stored_process *stored_process_find(int number)
{
    if (number < STORED_PROCESS_FIRST || number >= STORED_PROCESS_FIRST + STORED_PROCESS_MAX)
        return NULL;
    pthread_mutex_lock(&mutex);
    struct stored_process *const found = processes[number - STORED_PROCESS_FIRST];
    pthread_mutex_unlock(&mutex);
    return found;
}
