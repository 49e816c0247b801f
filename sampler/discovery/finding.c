#include "sampler/discovery/finding.h"

#include <inttypes.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/base/hash.h"
#include "sampler/base/idmap.h"
#include "sampler/base/vec.h"
#include "sampler/cpython/runtime/runtime.h"
#include "sampler/process/maps.h"
#include "sampler/process/ptrace_checks.h"

/* When to examine a process again: permission may be given, a lease given up, an interpreter may
 * start, or a program may load one. */
static const uint64_t REFUSED_AGAIN_NS = 5 * NS_PER_S, OTHER_AGAIN_NS = 60 * NS_PER_S;
/* Time limit for the files of a process; the search for the interpreter has its own. */
static const uint64_t FILES_NS = 2 * NS_PER_S;

enum { FILES_MAX = 1 << 14 };

/* A file that holds an interpreter or not. Device and inode identify it, so that it is opened
 * once. */
struct file {
    uint64_t inode;
    uint32_t device_major, device_minor;
    unsigned uid; /* of the process that maps it */
    enum runtime_presence presence;
};

struct known_files {
    pthread_mutex_t lock;
    struct file *items;
    size_t count, room;
    struct idmap map;
};

struct known_files *known_files_create(void)
{
    struct known_files *const files = calloc(1, sizeof *files);
    if (!files)
        return NULL;
    pthread_mutex_init(&files->lock, NULL);
    idmap_init(&files->map);
    return files;
}

void known_files_destroy(struct known_files *files)
{
    if (!files)
        return;
    free(files->items);
    idmap_deinit(&files->map);
    pthread_mutex_destroy(&files->lock);
    free(files);
}

static uint32_t hash_of(const struct mapping *m, unsigned uid)
{
    return hash_mix(m->inode,
                    ((uint64_t)m->device_major << 32 | m->device_minor) ^ (uint64_t)uid << 16);
}

static enum runtime_presence find_file(struct known_files *files, const struct mapping *m,
                                       unsigned uid)
{
    struct idmap_slot *at;
    pthread_mutex_lock(&files->lock);
    IDMAP_FIND(at, &files->map, hash_of(m, uid),
               files->items[at->id].inode == m->inode && files->items[at->id].uid == uid &&
                   files->items[at->id].device_major == m->device_major &&
                   files->items[at->id].device_minor == m->device_minor);
    const enum runtime_presence presence = at ? files->items[at->id].presence : RUNTIME_UNKNOWN;
    pthread_mutex_unlock(&files->lock);
    return presence;
}

/* UNKNOWN: no file is known to hold an interpreter, and one of them could not be read completely. */
static enum runtime_presence presence_in(struct known_files *files, int pid, unsigned uid,
                                         const struct maps *maps,
                                         const struct deadline *deadline)
{
    enum runtime_presence most = RUNTIME_ABSENT;
    bool is_unknown = false;
    for (size_t i = 0; i < maps->count; i++) {
        const struct mapping *const m = &maps->items[i];
        /* The mappings of one file follow one another. */
        if (!m->inode ||
            (i > 0 && m[-1].inode == m->inode && m[-1].device_major == m->device_major &&
             m[-1].device_minor == m->device_minor))
            continue;
        enum runtime_presence presence = find_file(files, m, uid);
        if (presence == RUNTIME_UNKNOWN && !deadline_is_over(deadline)) {
            presence = runtime_in_file(pid, m, deadline);
            if (presence != RUNTIME_UNKNOWN) {
                pthread_mutex_lock(&files->lock);
                /* Files come and go, and inode numbers are used again: a full table is emptied. */
                if (files->count == FILES_MAX) {
                    files->count = 0;
                    idmap_clear(&files->map);
                }
                if (VEC_RESERVE(files->items, files->room, files->count + 1) &&
                    !idmap_add(&files->map, hash_of(m, uid), (uint32_t)files->count, NULL))
                    files->items[files->count++] = (struct file){
                        .inode = m->inode,
                        .device_major = m->device_major,
                        .device_minor = m->device_minor,
                        .uid = uid,
                        .presence = presence,
                    };
                pthread_mutex_unlock(&files->lock);
            }
        }
        if (presence == RUNTIME_PRESENT)
            return presence;
        is_unknown = is_unknown || presence == RUNTIME_UNKNOWN;
        if (presence == RUNTIME_HIDDEN)
            most = presence;
    }
    return is_unknown ? RUNTIME_UNKNOWN : most;
}

/* "python", "python3.12": the only sign of a process whose mappings cannot be read. */
static bool is_called_python(const struct process *process)
{
    const char *const word = process->argc ? process->argv[0] : "";
    const char *const slash = strrchr(word, '/');
    const char *const name = slash ? slash + 1 : word;
    return strncmp(name, "python", 6) == 0 &&
           name[6 + strspn(name + 6, "0123456789.dt")] == '\0';
}

static void refuse_process(struct finding *finding, const struct err *err)
{
    finding->is_python = true;
    snprintf(finding->reason, sizeof finding->reason, "%s", err->message);
    finding->again_ns = clock_now_ns() + REFUSED_AGAIN_NS;
}

static void examine_process(struct finding *finding, unsigned uid, struct known_files *files)
{
    const struct deadline forever = { .at_ns = UINT64_MAX,
                                      .is_cancelled = finding->process.is_cancelled };
    const struct deadline deadline = deadline_within(&forever, FILES_NS);
    const int pid = finding->process.pid;
    struct maps maps = { 0 };
    struct err err = { 0 };
    const enum err_code rc = maps_read(&maps, pid, NULL);
    const enum runtime_presence presence =
        rc ? RUNTIME_ABSENT : presence_in(files, pid, uid, &maps, &deadline);
    maps_deinit(&maps);
    if (rc == ERR_PERM && is_called_python(&finding->process)) {
        (void)!ptrace_checks_explain(pid, &err);
        refuse_process(finding, &err);
    }
    if (presence == RUNTIME_UNKNOWN)
        finding->again_ns = clock_now_ns() + REFUSED_AGAIN_NS;
    if (presence == RUNTIME_UNKNOWN || presence == RUNTIME_ABSENT)
        return;
    const enum runtime_effort effort =
        presence == RUNTIME_HIDDEN ? RUNTIME_HIDDEN_ONLY : RUNTIME_QUICK;
    struct runtime runtime;
    if (!runtime_find(&finding->process, effort, &runtime, &err)) {
        finding->is_python = true;
        finding->again_ns = UINT64_MAX;
        layout_name(&runtime.layout, finding->python);
    } else if (effort == RUNTIME_QUICK) {
        refuse_process(finding, &err);
    }
}

bool finding_holds(const struct finding *finding, int pid)
{
    return !finding->is_python || !finding->is_permitted ||
           permission_is_same(pid, &finding->users);
}

void finding_make(struct finding *finding, int pid, unsigned uid, struct known_files *files,
                  const atomic_bool *is_cancelled)
{
    struct process_stats stats;
    finding_init(finding);
    finding->again_ns = clock_now_ns() + OTHER_AGAIN_NS;
    if (process_stats_read(pid, &stats, NULL) || process_open(&finding->process, pid, NULL))
        return;
    finding->process.is_cancelled = is_cancelled;
    examine_process(finding, uid, files);
    finding->process.is_cancelled = NULL;

    /* The files of a process are kept open only while it is examined. */
    struct process *const process = &finding->process;
    if (process->pidfd >= 0)
        close(process->pidfd);
    if (process->space_fd >= 0)
        close(process->space_fd);
    process->pidfd = process->space_fd = -1;

    if (!finding->is_python) {
        process_close(&finding->process);
        return;
    }

    char room[1024];
    struct passwd passwd, *found = NULL;
    if (getpwuid_r(uid, &passwd, room, sizeof room, &found) == 0 && found)
        snprintf(finding->user, sizeof finding->user, "%s", passwd.pw_name);
    else
        snprintf(finding->user, sizeof finding->user, "%u", uid);

    container_of(pid, &finding->container);

    /* Its command line was read before, and is that of the program that is asked for. */
    struct process_stats now;
    finding->is_permitted = !permission_has_rule();
    if (finding->is_permitted)
        return;
    finding->is_permitted = !permission_ask(pid, &finding->users, NULL) &&
                            !process_stats_read(pid, &now, NULL) &&
                            process_stats_same_program(&stats, &now);
    if (!finding->is_permitted)
        finding->again_ns = clock_now_ns() + REFUSED_AGAIN_NS;
}

void finding_init(struct finding *finding)
{
    *finding = (struct finding){ .process = { .pidfd = -1, .space_fd = -1 } };
}

void finding_close(struct finding *finding)
{
    process_close(&finding->process);
    finding_init(finding);
}
