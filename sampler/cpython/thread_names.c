#include "sampler/cpython/thread_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/cpython/dict.h"
#include "sampler/cpython/object.h"
#include "sampler/target/procfs.h"

/* threading._active of one interpreter: get_ident() -> Thread.  The hash of such a number is the
 * number itself. */
static enum err_code read_active(struct thread_list *list, remote_addr interp,
                                 struct dict_entries *out)
{
    const struct layout *const layout = &list->runtime->layout;
    remote_addr modules, threading, attributes, active;
    enum err_code rc =
        memory_read_u64(list->memory, interp + layout->interp_imports_modules, &modules);
    if (!rc)
        rc = dict_find(list->memory, layout, modules, "threading", &threading);
    /* A module's dictionary comes right after the object header. */
    if (!rc)
        rc = memory_read_u64(list->memory, threading + layout->bytes_length, &attributes);
    if (!rc)
        rc = dict_find(list->memory, layout, attributes, "_active", &active);
    if (!rc)
        rc = dict_read(list->memory, layout, active, out);
    return rc;
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

/* The kernel's name; a thread that has none of its own carries its process's. */
static void kernel_name(const struct thread *thread, int pid, char out[PROCFS_COMM_BYTES])
{
    char process_name[PROCFS_COMM_BYTES] = "";
    if (thread->is_main) {
        snprintf(out, PROCFS_COMM_BYTES, "MainThread");
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

static enum err_code name_threads(struct thread_list *list, remote_addr interp, int pid,
                                  struct strtab *strings)
{
    struct dict_entries active = { 0 };
    struct object_bytes text = { 0 };
    enum err_code rc = ERR_OK;
    /* A program that never imported threading has none; names then come from the kernel. */
    if (read_active(list, interp, &active))
        active = (struct dict_entries){ 0 };
    for (size_t i = 0; i < list->count && !rc; i++) {
        struct thread *const thread = list->items[i];
        char kernel[PROCFS_COMM_BYTES];
        if (thread->head.interp != interp)
            continue;
        if (python_name(list, &active, thread->head.ident, &text)) {
            rc = rename_thread(thread, (const char *)text.bytes, text.count, strings);
            continue;
        }
        kernel_name(thread, pid, kernel);
        rc = rename_thread(thread, kernel, strlen(kernel), strings);
    }
    object_bytes_deinit(&text);
    dict_entries_deinit(&active);
    return rc;
}

enum err_code thread_names_read(struct thread_list *list, int pid, struct strtab *strings)
{
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < list->interpreter_count && !rc; i++)
        rc = name_threads(list, list->interpreters[i].addr, pid, strings);
    return rc;
}
