#include "sampler/session/kernel/kernel_paths.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/base/idmap.h"
#include "sampler/base/vec.h"
#include "sampler/kernel/kallsyms.h"
#include "sampler/kernel/record.h"
#include "sampler/profile/profile.h"

static const char NO_NAME[] = "[kernel]";
/* Functions of the scheduler, and of the program that copies the stack, at the end of one that leaves. */
enum { MAX_SWITCH_CALLS = 24 };

struct kernel_paths {
    struct profile *profile;
    const struct kallsyms *kallsyms;
    library_id library;
    struct path {
        uint64_t hash;
        uint32_t first, count; /* in `frames` */
    } * items;
    frame_id *frames;
    size_t count, room, frame_count, frame_room;
    struct idmap index; /* of items by hash */
};

static enum err_code intern(const struct kernel_paths *paths, const char *text, str_id *out)
{
    return strtab_intern(profile_strings(paths->profile), text, strlen(text), out, NULL);
}

enum err_code kernel_paths_create(struct profile *profile, const struct kallsyms *kallsyms,
                                  struct kernel_paths **out, struct err *err)
{
    struct kernel_paths *const paths = calloc(1, sizeof *paths);
    struct profile_library row = { .flags = PROFILE_LIBRARY_KERNEL };
    if (!paths)
        return err_nomem(err);
    paths->profile = profile;
    paths->kallsyms = kallsyms;
    idmap_init(&paths->index);
    enum err_code rc = intern(paths, PROFILE_KERNEL_PATH, &row.path);
    if (!rc)
        rc = profile_library(profile, &row, &paths->library, err);
    if (rc)
        kernel_paths_destroy(paths);
    else
        *out = paths;
    return rc;
}

void kernel_paths_destroy(struct kernel_paths *paths)
{
    if (!paths)
        return;
    idmap_deinit(&paths->index);
    free(paths->items);
    free(paths->frames);
    free(paths);
}

static bool begins_with(const char *name, const char *start)
{
    return strncmp(name, start, strlen(start)) == 0;
}

static bool is_switch(const char *name)
{
    static const char *const names[] = { "__schedule", "schedule", "schedule_preempt_disabled",
                                         "__cond_resched", "schedule_rtlock" };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return begins_with(name, "preempt_schedule");
}

/* The way into the kernel: what each stack of x86-64 or aarch64 begins with. */
static bool is_entry(const char *name)
{
    static const char *const starts[] = { "entry_SYSCALL", "do_syscall_64",  "x64_sys_call",
                                          "asm_",          "el0t_64_",       "el0_svc",
                                          "do_el0_svc",    "invoke_syscall", "el0_da",
                                          "el0_ia",        "el1h_64_",       "ret_from_fork" };
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (begins_with(name, starts[i]))
            return true;
    return false;
}

/* The name that the first frame is shown with. */
static const char *name_entry(const char *name)
{
    static const struct {
        const char *start, *shown;
    } rows[] = {
        { "exc_page_fault", "page_fault" }, { "do_mem_abort", "page_fault" },
        { "sysvec_", "interrupt" },         { "common_interrupt", "interrupt" },
        { "el0_interrupt", "interrupt" },   { "el1_interrupt", "interrupt" },
        { "irqentry_exit", "interrupt" },   { "exit_to_user_mode_loop", "interrupt" },
    };
    /* The function of a call may be part of another one, or call that at its end. */
    static const char *const prefixes[] = { "__x64_sys_", "__arm64_sys_", "__ia32_sys_",
                                            "__se_sys_",  "__do_sys_",    "ksys_" };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (begins_with(name, rows[i].start))
            return rows[i].shown;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (begins_with(name, prefixes[i]))
            return name + strlen(prefixes[i]) - strlen("sys_");
    return name;
}

/* Makes the frame of a function.  What compilers put behind a name, as in "ksys_read.isra.0", is left out. */
static enum err_code make_frame(const struct kernel_paths *paths, const char *name,
                                frame_id *out)
{
    struct profile_function row = { .library = paths->library };
    function_id function;
    const size_t length = strcspn(name, ".");
    enum err_code rc = strtab_intern(profile_strings(paths->profile), name,
                                     length ? length : strlen(name), &row.name, NULL);
    if (!rc)
        rc = intern(paths, PROFILE_KERNEL_PATH, &row.file);
    if (!rc)
        rc = profile_function_row(paths->profile, &row, &function, NULL);
    return rc ? rc : profile_frame(paths->profile, function, 0, out, NULL);
}

/* Appends the path that these calls, innermost first, are.  It may be empty.  ERR_LIMIT: the profile is full. */
static enum err_code add_path(struct kernel_paths *paths, const uint64_t *calls, size_t count,
                              bool is_leaving, uint64_t hash)
{
    const char *names[KERNEL_MAX_CALLS];
    struct path path = { hash, (uint32_t)paths->frame_count, 0 };
    size_t first = 0, end = count;
    for (size_t i = 0; i < count; i++) {
        /* All but the innermost one are return addresses, which may be those of the next function. */
        const char *const name = kallsyms_find(paths->kallsyms, calls[i] - (i != 0));
        names[i] = name ? name : NO_NAME;
        if (is_leaving && i < MAX_SWITCH_CALLS && is_switch(names[i]))
            first = i + 1;
    }
    while (end > first && is_entry(names[end - 1]))
        end--;
    /* An interrupt that takes the processor away says nothing of the thread. */
    if (is_leaving && end > first && strcmp(name_entry(names[end - 1]), "interrupt") == 0)
        end = first;
    if (!VEC_RESERVE(paths->frames, paths->frame_room, paths->frame_count + (end - first)) ||
        !VEC_RESERVE(paths->items, paths->room, paths->count + 1))
        return ERR_NOMEM;
    for (size_t i = end; i-- > first;) {
        const char *const name = i + 1 == end ? name_entry(names[i]) : names[i];
        const enum err_code rc =
            make_frame(paths, name, &paths->frames[path.first + path.count]);
        if (rc)
            return rc;
        path.count++;
    }
    paths->frame_count += path.count;
    paths->items[paths->count++] = path;
    return ERR_OK;
}

enum err_code kernel_paths_find(struct kernel_paths *paths, const struct kernel_record *record,
                                const void *spans, kernel_path_id *out)
{
    uint64_t calls[KERNEL_MAX_CALLS];
    struct idmap_slot *at;
    *out = 0;
    if (!paths || !record->kernel_bytes)
        return ERR_OK;
    memcpy(calls, (const unsigned char *)spans + record->bytes + record->native_bytes,
           record->kernel_bytes);
    const bool is_leaving = record->kind == KERNEL_LEFT;
    const uint64_t hash =
        hash_bytes(calls, record->kernel_bytes, hash_word(is_leaving, HASH_SEED));
    IDMAP_FIND(at, &paths->index, (uint32_t)hash, paths->items[at->id].hash == hash);
    if (at) {
        *out = at->id + 1;
        return ERR_OK;
    }
    if (paths->count == KERNEL_PATHS_MAX)
        return ERR_OK;
    enum err_code rc =
        add_path(paths, calls, record->kernel_bytes / sizeof *calls, is_leaving, hash);
    if (!rc)
        rc = idmap_add(&paths->index, (uint32_t)hash, (uint32_t)paths->count - 1, NULL);
    if (!rc)
        *out = (kernel_path_id)paths->count;
    return rc == ERR_LIMIT ? ERR_OK : rc;
}

struct kernel_path kernel_paths_path(const struct kernel_paths *paths, kernel_path_id id)
{
    if (!id)
        return (struct kernel_path){ 0 };
    const struct path *const path = &paths->items[id - 1];
    return (struct kernel_path){ paths->frames + path->first, path->count };
}
