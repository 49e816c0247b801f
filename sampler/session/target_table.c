#include "sampler/session/target_table.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/process/process.h"
#include "sampler/process/process_stats.h"

void target_table_init(struct target_table *target_table)
{
    memset(target_table, 0, sizeof *target_table);
    pthread_mutex_init(&target_table->mutex, NULL);
}

void target_table_deinit(struct target_table *target_table)
{
    for (size_t i = 0; i < target_table->count; i++) {
        struct target_record *const item = &target_table->items[i];
        for (size_t j = 0; j < SESSION_WARNINGS; j++)
            free((char *)(uintptr_t)item->target.warnings[j]);
        target_record_deinit(item);
    }
    pthread_mutex_destroy(&target_table->mutex);
    memset(target_table, 0, sizeof *target_table);
}

_Static_assert((int)SERVICE_BYTES == (int)SESSION_SERVICE_BYTES &&
                   (int)CONTAINER_ID_BYTES <= (int)SESSION_SERVICE_BYTES,
               "both hold the same texts");

static uint64_t age_ns(const struct process *process)
{
    const uint64_t now_ns = clock_boot_ns();
    const uint64_t start_ns = process->start_time * (NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
    return now_ns > start_ns ? now_ns - start_ns : 0;
}

static enum err_code describe_target(const struct process *process,
                                     const struct target_table_info *info,
                                     struct target_record *out, struct err *err)
{
    struct container container;
    container_of(process->pid, &container);
    struct session_target target = {
        .pid = process->pid,
        .parent = info->parent,
        .argc = process->argc,
        .argv = (const char *const *)process->argv,
        .executable = process->executable ? process->executable : "",
        .python = info->python,
        .pod = *container.pod ? container.pod : NULL,
        .validated = info->validated,
        .from_ns = info->from_ns,
        .age_ns = age_ns(process),
    };
    memcpy(target.service.name, process->service.name, SERVICE_BYTES);
    memcpy(target.service.namespace, process->service.namespace, SERVICE_BYTES);
    memcpy(target.service.version, process->service.version, SERVICE_BYTES);
    memcpy(target.service.container, container.id, CONTAINER_ID_BYTES);
    return target_record_copy(&target, out, err);
}

enum err_code target_table_add(struct target_table *target_table, const struct process *process,
                               const struct target_table_info *info, size_t *row_out,
                               struct err *err)
{
    struct target_record item;
    enum err_code rc = ERR_OK;
    const size_t row = target_table->count;
    if (row < SESSION_MAX_LISTED)
        rc = describe_target(process, info, &item, err);
    if (rc)
        return rc;
    pthread_mutex_lock(&target_table->mutex);
    if (row < SESSION_MAX_LISTED)
        target_table->items[target_table->count++] = item;
    target_table->counts.joined++;
    target_table->counts.running++;
    pthread_mutex_unlock(&target_table->mutex);
    *row_out = row;
    return ERR_OK;
}

void target_table_end(struct target_table *target_table, size_t row, uint64_t to_ns,
                      const char *reason)
{
    pthread_mutex_lock(&target_table->mutex);
    target_table->counts.running--;
    if (row < SESSION_MAX_LISTED) {
        target_table->items[row].target.to_ns = to_ns;
        target_table->items[row].target.reason = reason;
    }
    pthread_mutex_unlock(&target_table->mutex);
}

bool target_table_warn(struct target_table *target_table, size_t row,
                       enum session_warning warning, const char *text)
{
    if (row >= SESSION_MAX_LISTED || target_table->items[row].target.warnings[warning])
        return true;
    char *const copy = strdup(text);
    pthread_mutex_lock(&target_table->mutex);
    target_table->items[row].target.warnings[warning] = copy;
    pthread_mutex_unlock(&target_table->mutex);
    return copy != NULL;
}

void target_table_left_out(struct target_table *target_table,
                           const struct session_processes *more)
{
    pthread_mutex_lock(&target_table->mutex);
    target_table->counts.over += more->over;
    target_table->counts.short_of_files += more->short_of_files;
    target_table->counts.denied += more->denied;
    target_table->counts.not_permitted += more->not_permitted;
    pthread_mutex_unlock(&target_table->mutex);
}

/* Readers have a const table and lock it too. */
static pthread_mutex_t *lock_of(const struct target_table *target_table)
{
    return (pthread_mutex_t *)(uintptr_t)&target_table->mutex;
}

bool target_table_at(const struct target_table *target_table, size_t index,
                     struct session_target *out)
{
    pthread_mutex_lock(lock_of(target_table));
    const bool is_listed = index < target_table->count;
    if (is_listed)
        *out = target_table->items[index].target;
    pthread_mutex_unlock(lock_of(target_table));
    return is_listed;
}

void target_table_counts(const struct target_table *target_table, struct session_processes *out)
{
    pthread_mutex_lock(lock_of(target_table));
    *out = target_table->counts;
    pthread_mutex_unlock(lock_of(target_table));
}
