#include "sampler/session/origins.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/process/process.h"

enum { OWNER_SHIFT = 48 };

/* The last number given in any session: a number means one process only. */
static atomic_uint_fast64_t numbers = 0;

unsigned session_origin_owner(profile_origin number)
{
    return (unsigned)(number >> OWNER_SHIFT);
}

void session_origin_close(struct session_origin *origin)
{
    if (origin->pidfd >= 0)
        close(origin->pidfd);
    if (origin->space_fd >= 0)
        close(origin->space_fd);
    origin->pidfd = origin->space_fd = -1;
}

void origins_init(struct origins *origins)
{
    memset(origins, 0, sizeof *origins);
    pthread_mutex_init(&origins->mutex, NULL);
}

void origins_deinit(struct origins *origins)
{
    for (size_t i = 0; i < origins->count; i++)
        if (origins->processes[i].is_kept)
            session_origin_close(&origins->processes[i].origin);
    for (size_t i = 0; i < origins->owner_count; i++)
        free(origins->owners[i]);
    free(origins->owners);
    pthread_mutex_destroy(&origins->mutex);
    memset(origins, 0, sizeof *origins);
}

/* Owners count from 1; 0: the table is full. */
static size_t owner_number(struct origins *origins, const struct owner *owner)
{
    for (size_t i = 0; i < origins->owner_count; i++)
        if (owner_same(origins->owners[i], owner))
            return i + 1;
    if (!origins->owners)
        origins->owners = calloc(ORIGINS_MAX_OWNERS, sizeof *origins->owners);
    if (!origins->owners || origins->owner_count == ORIGINS_MAX_OWNERS)
        return 0;
    struct owner *const copy = malloc(sizeof *copy);
    if (!copy)
        return 0;
    *copy = *owner;
    origins->owners[origins->owner_count] = copy;
    return ++origins->owner_count;
}

static bool duplicate_text(const struct session_origin *from, struct session_origin *out,
                           struct err *err)
{
    *out = *from;
    out->pidfd = fcntl(from->pidfd, F_DUPFD_CLOEXEC, 0);
    out->space_fd = fcntl(from->space_fd, F_DUPFD_CLOEXEC, 0);
    if (out->pidfd >= 0 && out->space_fd >= 0)
        return true;
    err_sys(err, errno, "cannot duplicate the descriptors of process %d", (int)from->pid);
    session_origin_close(out);
    return false;
}

static profile_origin add_origin(struct origins *origins, const struct session_origin *held,
                                 const struct owner *owner)
{
    struct origins_process *const place = &origins->processes[origins->count];
    if (origins->count == SESSION_MAX_PROCESSES)
        return PROFILE_ORIGIN_SEVERAL;
    const size_t of = owner_number(origins, owner);
    if (of == 0)
        return PROFILE_ORIGIN_SEVERAL;
    place->origin = *held;
    place->is_kept = false;
    place->number = (uint64_t)of << OWNER_SHIFT | (atomic_fetch_add(&numbers, 1) + 1);
    origins->count++;
    return place->number;
}

profile_origin origins_add(struct origins *origins, struct process *process,
                           uint64_t mapped_addr)
{
    const struct session_origin held = { .pid = process->pid,
                                         .pidfd = process->pidfd,
                                         .space_fd = process->space_fd,
                                         .mapped_addr = mapped_addr };
    struct owner owner;
    /* The sampled program still runs after the owner was read: it is the owner of that program. */
    if (process->pidfd < 0 || process->space_fd < 0 || owner_read(process->pid, &owner, NULL) ||
        !process_runs(process, mapped_addr))
        return PROFILE_ORIGIN_SEVERAL;
    pthread_mutex_lock(&origins->mutex);
    const profile_origin number = add_origin(origins, &held, &owner);
    pthread_mutex_unlock(&origins->mutex);
    return number;
}

/* NULL: it has ended. */
static struct origins_process *find_process(struct origins *origins, profile_origin number)
{
    for (size_t i = 0; i < origins->count; i++)
        if (origins->processes[i].number == number)
            return &origins->processes[i];
    return NULL;
}

void origins_end(struct origins *origins, profile_origin number)
{
    pthread_mutex_lock(&origins->mutex);
    struct origins_process *const process = find_process(origins, number);
    if (process && process->is_kept)
        session_origin_close(&process->origin);
    if (process)
        *process = origins->processes[--origins->count];
    pthread_mutex_unlock(&origins->mutex);
}

void origins_keep(struct origins *origins, profile_origin number, struct process *process)
{
    pthread_mutex_lock(&origins->mutex);
    struct origins_process *const kept = find_process(origins, number);
    if (kept) {
        kept->is_kept = true;
        process->pidfd = process->space_fd = -1;
    }
    pthread_mutex_unlock(&origins->mutex);
}

profile_origin origins_join(struct origins *origins, profile_origin before, profile_origin now)
{
    if (before == PROFILE_ORIGIN_NONE || before == now)
        return now;
    if (before == PROFILE_ORIGIN_SEVERAL || now == PROFILE_ORIGIN_SEVERAL ||
        session_origin_owner(before) != session_origin_owner(now))
        return PROFILE_ORIGIN_SEVERAL;
    pthread_mutex_lock(&origins->mutex);
    const bool is_there = find_process(origins, before) != NULL;
    pthread_mutex_unlock(&origins->mutex);
    return is_there ? before : now;
}

void origins_note(struct origins *origins, struct profile *profile, function_id function,
                  profile_origin origin)
{
    if (origins)
        profile_set_origin(profile, function,
                           origins_join(origins, profile_origin_of(profile, function), origin));
}

enum err_code origins_find(struct origins *origins, profile_origin number,
                           struct session_origin *out, struct err *err)
{
    enum err_code rc = ERR_OK;
    pthread_mutex_lock(&origins->mutex);
    const struct origins_process *const process = find_process(origins, number);
    if (!process)
        rc = err_set(err, ERR_GONE, "the process has ended");
    else if (!duplicate_text(&process->origin, out, err))
        rc = ERR_SYS;
    else
        out->owner = *origins->owners[session_origin_owner(number) - 1];
    pthread_mutex_unlock(&origins->mutex);
    return rc;
}
