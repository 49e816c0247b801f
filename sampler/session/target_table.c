#include "sampler/session/target_table.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/process/process.h"

void roster_init(struct roster *roster)
{
    memset(roster, 0, sizeof *roster);
    pthread_mutex_init(&roster->mutex, NULL);
}

static void forget(const struct sampler_target *item)
{
    for (size_t i = 0; i < item->argc; i++)
        free((char *)(uintptr_t)item->argv[i]);
    free((void *)(uintptr_t)item->argv);
    free((char *)(uintptr_t)item->executable);
    free((char *)(uintptr_t)item->python);
}

void roster_deinit(struct roster *roster)
{
    for (size_t i = 0; i < roster->count; i++)
        forget(&roster->items[i]);
    pthread_mutex_destroy(&roster->mutex);
    memset(roster, 0, sizeof *roster);
}

static enum err_code describe(struct process *process, const struct roster_facts *facts,
                              struct sampler_target *out, struct err *err)
{
    char *const executable = strdup(process->executable ? process->executable : "");
    char *const python = strdup(facts->python);
    if (!executable || !python) {
        free(executable);
        free(python);
        return err_set(err, ERR_NOMEM, "no memory for a process");
    }
    *out = (struct sampler_target){ .pid = process->pid,
                                    .parent = facts->parent,
                                    .argc = process->argc,
                                    .argv = (const char *const *)process->argv,
                                    .executable = executable,
                                    .python = python,
                                    .validated = facts->validated,
                                    .from_ns = facts->from_ns };
    process->argv = NULL;
    process->argc = 0;
    return ERR_OK;
}

enum err_code roster_add(struct roster *roster, struct process *process,
                         const struct roster_facts *facts, size_t *place_out, struct err *err)
{
    struct sampler_target item;
    enum err_code rc = ERR_OK;
    const size_t place = roster->count;
    if (place < SAMPLER_MAX_TOLD)
        rc = describe(process, facts, &item, err);
    if (rc)
        return rc;
    pthread_mutex_lock(&roster->mutex);
    if (place < SAMPLER_MAX_TOLD)
        roster->items[roster->count++] = item;
    roster->counts.joined++;
    roster->counts.running++;
    pthread_mutex_unlock(&roster->mutex);
    *place_out = place;
    return ERR_OK;
}

void roster_end(struct roster *roster, size_t place, uint64_t to_ns, const char *reason)
{
    pthread_mutex_lock(&roster->mutex);
    roster->counts.running--;
    if (place < SAMPLER_MAX_TOLD) {
        roster->items[place].to_ns = to_ns;
        roster->items[place].reason = reason;
    }
    pthread_mutex_unlock(&roster->mutex);
}

void roster_left_out(struct roster *roster, uint64_t over, uint64_t denied)
{
    pthread_mutex_lock(&roster->mutex);
    roster->counts.over = over;
    roster->counts.denied = denied;
    pthread_mutex_unlock(&roster->mutex);
}

bool roster_at(struct roster *roster, size_t index, struct sampler_target *out)
{
    pthread_mutex_lock(&roster->mutex);
    const bool is_told = index < roster->count;
    if (is_told)
        *out = roster->items[index];
    pthread_mutex_unlock(&roster->mutex);
    return is_told;
}

void roster_counts(struct roster *roster, struct sampler_processes *out)
{
    pthread_mutex_lock(&roster->mutex);
    *out = roster->counts;
    pthread_mutex_unlock(&roster->mutex);
}
