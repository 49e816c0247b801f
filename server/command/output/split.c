#include "server/command/output/split.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/profile/profile.h"
#include "sampler/profile/views/view.h"

struct row {
    int pid;
    process_id process;
};

static int compare_rows(const void *a, const void *b)
{
    const struct row *const left = a, *const right = b;
    if (left->pid != right->pid)
        return left->pid < right->pid ? -1 : 1;
    return (left->process > right->process) - (left->process < right->process);
}

enum err_code split_init(struct split *split, const struct profile_snapshot *snapshot,
                         const struct view_query *query, struct err *err)
{
    const size_t room = (size_t)snapshot->sizes.processes + 1;
    bool *const marks = calloc(room, sizeof *marks);
    struct row *const rows = calloc(room, sizeof *rows);
    enum err_code rc = ERR_OK;
    *split = (struct split){ .processes = calloc(room, sizeof *split->processes),
                             .parts = calloc(room, sizeof *split->parts) };
    if (!marks || !rows || !split->processes || !split->parts)
        rc = err_nomem(err);
    if (!rc) {
        /* The processes of the threads that have samples. */
        struct view_cells cells;
        rc = view_cells_init(&cells, snapshot, query, err);
        if (!rc) {
            for (size_t i = 0; i < cells.count; i++)
                marks[profile_thread_at(snapshot, cells.cells[i].thread).process] = true;
            view_cells_deinit(&cells);
        }
    }
    if (!rc) {
        size_t count = 0;
        for (process_id id = 0; id < snapshot->sizes.processes; id++)
            if (marks[id])
                rows[count++] = (struct row){ profile_process_at(snapshot, id).pid, id };
        qsort(rows, count, sizeof *rows, compare_rows);

        for (size_t i = 0; i < count; i++) {
            if (i == 0 || rows[i].pid != rows[i - 1].pid)
                split->parts[split->count++] = (struct split_part){ rows[i].pid, i, 0 };
            split->parts[split->count - 1].count++;
            split->processes[i] = rows[i].process;
        }
    }
    if (rc)
        split_deinit(split);
    free(marks);
    free(rows);
    return rc;
}

void split_deinit(struct split *split)
{
    free(split->processes);
    free(split->parts);
    *split = (struct split){ 0 };
}

/* The index of the extension's dot; the length of the name if it has no extension. */
static size_t stem_of(const char *name, const char *extension)
{
    const size_t length = strlen(name), suffix = strlen(extension) + 1;
    const char *const slash = strrchr(name, '/');
    const char *const base = slash ? slash + 1 : name;
    const char *const dot = strrchr(base, '.');
    if (length > suffix && name[length - suffix] == '.' &&
        strcmp(name + length - suffix + 1, extension) == 0)
        return length - suffix;
    return dot && dot != base ? (size_t)(dot - name) : length;
}

enum err_code split_name(const char *name, const char *extension, int pid, char out[PATH_MAX],
                         struct err *err)
{
    const size_t stem = stem_of(name, extension);
    const int length = snprintf(out, PATH_MAX, "%.*s_%d%s", (int)stem, name, pid, name + stem);
    if (length < 0 || length >= PATH_MAX)
        return err_sys(err, ENAMETOOLONG, "cannot write '%.256s'", name);
    return ERR_OK;
}
