#include "sampler/cpython/threads/thread_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/cpython/objects/dict.h"
#include "sampler/cpython/objects/object.h"
#include "sampler/process/procfs.h"
#include "sampler/process/thread_ids.h"

/* Reads threading._active of one interpreter: get_ident() -> Thread.  The hash of such an int is its
 * value. */
static enum err_code read_active(struct thread_list *list, remote_addr interp,
                                 struct dict_entries *out)
{
    const struct layout *const layout = &list->runtime->layout;
    remote_addr active;
    const enum err_code rc =
        dict_find_global(list->memory, layout, interp, "threading", "_active", &active);
    return rc ? rc : dict_read(list->memory, layout, active, 0, out);
}

static bool python_name(struct thread_list *list, const struct dict_entries *active,
                        uint64_t ident, struct object_bytes *out)
{
    const struct layout *const layout = &list->runtime->layout;
    remote_addr name;
    for (size_t i = 0; i < active->count; i++)
        if (active->items[i].hash == ident)
            return !object_attribute(list->memory, layout, active->items[i].value, "_name",
                                     &name) &&
                   !object_read_str(list->memory, layout, name, out) && out->count;
    return false;
}

/* The kernel's name; by default that is the name of the process.  Of an unknown thread, what threading.get_ident()
 * returns in it. */
static void kernel_name(const struct thread *thread, int pid, char out[PROCFS_COMM_BYTES])
{
    char process_name[PROCFS_COMM_BYTES] = "";
    if (thread->is_main) {
        snprintf(out, PROCFS_COMM_BYTES, "MainThread");
        return;
    }
    if (!thread->host_tid) {
        snprintf(out, PROCFS_COMM_BYTES, "Thread %#" PRIx64, thread->head.ident);
        return;
    }
    (void)!procfs_thread_name(pid, pid, process_name, NULL);
    if (procfs_thread_name(pid, thread->host_tid, out, NULL) || !*out ||
        strcmp(out, process_name) == 0)
        snprintf(out, PROCFS_COMM_BYTES, "Thread %d", thread->host_tid);
}

static enum err_code rename_thread(struct thread *thread, const char *text, size_t length,
                                   struct strtab *strings)
{
    str_id name;
    const enum err_code rc = strtab_intern(strings, text, length, &name, NULL);
    if (rc || (!thread->is_new && name == thread->name))
        return rc;
    thread->name = name;
    thread->tag = 0;
    thread->is_new = false;
    return ERR_OK;
}

struct naming {
    struct thread_list *list;
    struct strtab *strings;
    int pid;
    bool only_main, again;
};

static bool wants_name(const struct naming *naming, const struct thread *thread,
                       remote_addr interp)
{
    const bool is_first = thread->is_main || thread->host_tid == thread_ids_first(naming->pid);
    return thread->head.interp == interp && (is_first || !naming->only_main) &&
           (naming->again || thread->names_read < THREAD_NAMES_READINGS);
}

static enum err_code name_thread(const struct naming *naming, struct thread *thread,
                                 const struct dict_entries *active, struct object_bytes *text)
{
    char kernel[PROCFS_COMM_BYTES];
    thread->names_read++;
    if (python_name(naming->list, active, thread->head.ident, text))
        return rename_thread(thread, (const char *)text->bytes, text->count, naming->strings);
    kernel_name(thread, naming->pid, kernel);
    const enum err_code rc = memory_confirm(naming->list->memory);
    return rc ? rc : rename_thread(thread, kernel, strlen(kernel), naming->strings);
}

enum err_code thread_names_read(struct thread_list *list, int pid, struct strtab *strings,
                                bool only_main, bool again)
{
    const struct naming naming = { list, strings, pid, only_main, again };
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < list->interpreter_count && !rc; i++) {
        const remote_addr interp = list->interpreters[i].addr;
        struct dict_entries active = { 0 };
        struct object_bytes text = { 0 };
        bool asked = false;
        for (size_t j = 0; j < naming.list->count && !rc; j++) {
            struct thread *const thread = naming.list->items[j];
            if (!wants_name(&naming, thread, interp))
                continue;
            /* A program that never imported threading has no names: the kernel's are used. */
            if (!asked && read_active(naming.list, interp, &active))
                active = (struct dict_entries){ 0 };
            asked = true;
            rc = name_thread(&naming, thread, &active, &text);
        }
        object_bytes_deinit(&text);
        dict_entries_deinit(&active);
    }
    return rc;
}
