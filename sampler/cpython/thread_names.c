#include "sampler/cpython/thread_names.h"

#include <stdio.h>
#include <string.h>

#include "sampler/target/procfs.h"

/* The kernel's name; a thread that has none of its own carries its process's. */
static void kernel_name(const struct thread *thread, int pid, char out[PROCFS_COMM_BYTES])
{
    char process_name[PROCFS_COMM_BYTES] = "";
    if (thread->is_main) {
        snprintf(out, PROCFS_COMM_BYTES, "MainThread");
        return;
    }
    (void)!procfs_thread_name(pid, pid, process_name, NULL);
    if (procfs_thread_name(pid, thread->head.tid, out, NULL) || !*out ||
        strcmp(out, process_name) == 0)
        snprintf(out, PROCFS_COMM_BYTES, "Thread %d", thread->head.tid);
}

enum err_code thread_names_read(struct thread_list *list, int pid, struct strtab *strings)
{
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < list->count && !rc; i++) {
        struct thread *const thread = list->items[i];
        char text[PROCFS_COMM_BYTES];
        str_id name;
        kernel_name(thread, pid, text);
        rc = strtab_intern(strings, text, strlen(text), &name, NULL);
        if (!rc && (thread->is_new || name != thread->name)) {
            thread->name = name;
            thread->tag = 0;
            thread->is_new = false;
        }
    }
    return rc;
}
