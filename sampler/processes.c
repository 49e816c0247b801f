#include "sampler/processes.h"

#include <inttypes.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/base/idmap.h"
#include "sampler/cpython/layout.h"
#include "sampler/cpython/runtime.h"
#include "sampler/target/census.h"
#include "sampler/target/maps.h"
#include "sampler/target/permission.h"
#include "sampler/target/process.h"
#include "sampler/target/vitals.h"

/* What was found is looked at again after so long: a refusal may be lifted, an interpreter may
 * have started, a program may load one.  One that rests is asked less often whether it is still
 * the same program. */
static const uint64_t REFUSED_AGAIN_NS = 5 * NS_PER_S, OTHER_AGAIN_NS = 60 * NS_PER_S;

enum { OTHERS_ASKED_EVERY = 4, USER_BYTES = 64, REASON_BYTES = 320 };

enum kind { KIND_NEW, KIND_OTHER, KIND_PYTHON };

struct entry {
    int pid;
    enum kind kind;
    uint64_t again_ns; /* when to examine it again; UINT64_MAX: never */
    struct vitals vitals;
    uint64_t measured_ns; /* of the CPU time in vitals */
    double cpu_percent;
    struct process process; /* command line and executable only; closed otherwise */
    char python[LAYOUT_VERSION_TEXT], reason[REASON_BYTES], user[USER_BYTES];
    unsigned uid;
    struct container container;
};

/* Does the file hold an interpreter?  It is told by its number, so that it is opened once. */
struct file {
    uint64_t inode;
    uint32_t device_major, device_minor;
    enum runtime_presence presence;
};

struct processes {
    pthread_mutex_t lock;
    struct entry **items; /* by pid */
    size_t count;
    struct file *files;
    size_t file_count, file_room;
    struct idmap file_map;
    uint64_t looked_ns, boot_ns; /* since 1970 */
    long ticks_per_s;
    struct processes_summary summary;
    bool hides_arguments;
};

enum err_code processes_create(struct processes **out, struct err *err)
{
    struct processes *const processes = calloc(1, sizeof *processes);
    struct timespec boot;
    if (!processes)
        return err_set(err, ERR_NOMEM, "no memory for the list of processes");
    pthread_mutex_init(&processes->lock, NULL);
    idmap_init(&processes->file_map);
    clock_gettime(CLOCK_BOOTTIME, &boot);
    processes->boot_ns =
        clock_wall_ns() - (uint64_t)boot.tv_sec * NS_PER_S - (uint64_t)boot.tv_nsec;
    processes->ticks_per_s = sysconf(_SC_CLK_TCK);
    *out = processes;
    return ERR_OK;
}

void processes_hide_arguments(struct processes *processes)
{
    processes->hides_arguments = true;
}

static void free_entry(struct entry *entry)
{
    if (entry)
        process_close(&entry->process);
    free(entry);
}

void processes_destroy(struct processes *processes)
{
    if (!processes)
        return;
    for (size_t i = 0; i < processes->count; i++)
        free_entry(processes->items[i]);
    free(processes->items);
    free(processes->files);
    idmap_deinit(&processes->file_map);
    pthread_mutex_destroy(&processes->lock);
    free(processes);
}

static uint32_t hash_of(const struct mapping *m)
{
    return idmap_mix(m->inode, (uint64_t)m->device_major << 32 | m->device_minor);
}

static const struct file *find_file(const struct processes *processes, const struct mapping *m)
{
    const struct idmap *const map = &processes->file_map;
    const uint32_t hash = hash_of(m);
    uint32_t id;
    for (uint32_t slot = idmap_first(map, hash); (id = idmap_id(map, slot)) != IDMAP_NONE;
         slot = idmap_next(map, slot)) {
        const struct file *const file = &processes->files[id];
        if (idmap_hash(map, slot) == hash && file->inode == m->inode &&
            file->device_major == m->device_major && file->device_minor == m->device_minor)
            return file;
    }
    return NULL;
}

/* Files come and go, and numbers are used again: now and then all is forgotten. */
static void keep_file(struct processes *processes, const struct mapping *m,
                      enum runtime_presence presence)
{
    enum { FILES_MAX = 1 << 14 };
    if (processes->file_count == FILES_MAX) {
        processes->file_count = 0;
        idmap_clear(&processes->file_map);
    }
    if (processes->file_count == processes->file_room) {
        const size_t room = processes->file_room ? processes->file_room * 2 : 256;
        struct file *const more = realloc(processes->files, room * sizeof *more);
        if (!more)
            return;
        processes->files = more;
        processes->file_room = room;
    }
    if (idmap_add(&processes->file_map, hash_of(m), (uint32_t)processes->file_count, NULL))
        return;
    processes->files[processes->file_count++] = (struct file){
        .inode = m->inode,
        .device_major = m->device_major,
        .device_minor = m->device_minor,
        .presence = presence,
    };
}

static enum runtime_presence presence_in(struct processes *processes, int pid,
                                         const struct maps *maps)
{
    enum runtime_presence most = RUNTIME_ABSENT;
    for (size_t i = 0; i < maps->count; i++) {
        const struct mapping *const m = &maps->items[i];
        if (!m->inode)
            continue;
        const struct file *const file = find_file(processes, m);
        const enum runtime_presence presence = file ? file->presence : runtime_in_file(pid, m);
        if (!file)
            keep_file(processes, m, presence);
        if (presence == RUNTIME_PRESENT)
            return presence;
        if (presence == RUNTIME_HIDDEN)
            most = presence;
    }
    return most;
}

/* "python", "python3.12": all that there is to go by where we may not look. */
static bool is_called_python(const struct process *process)
{
    const char *const word = process->argc ? process->argv[0] : "";
    const char *const slash = strrchr(word, '/');
    const char *const name = slash ? slash + 1 : word;
    return strncmp(name, "python", 6) == 0 &&
           name[6 + strspn(name + 6, "0123456789.dt")] == '\0';
}

static void name_user(struct entry *entry)
{
    char room[1024];
    struct passwd passwd, *found = NULL;
    if (vitals_user(entry->pid, &entry->uid, NULL))
        return;
    if (getpwuid_r(entry->uid, &passwd, room, sizeof room, &found) == 0 && found)
        snprintf(entry->user, sizeof entry->user, "%s", passwd.pw_name);
    else
        snprintf(entry->user, sizeof entry->user, "%u", entry->uid);
}

static void refuse(struct entry *entry, const struct err *err, uint64_t now_ns)
{
    snprintf(entry->reason, sizeof entry->reason, "%s", err->message);
    entry->again_ns = now_ns + REFUSED_AGAIN_NS;
}

/* The files of a process are kept open only while it is examined. */
static void close_files(struct process *process)
{
    if (process->pidfd >= 0)
        close(process->pidfd);
    if (process->space_fd >= 0)
        close(process->space_fd);
    process->pidfd = process->space_fd = -1;
}

static void find_python(struct entry *entry, enum runtime_effort effort, uint64_t now_ns)
{
    struct runtime runtime;
    struct err err = { 0 };
    const enum err_code rc = runtime_find(&entry->process, effort, &runtime, &err);
    if (rc && effort == RUNTIME_HIDDEN_ONLY)
        return;
    entry->kind = KIND_PYTHON;
    entry->again_ns = UINT64_MAX;
    if (rc)
        refuse(entry, &err, now_ns);
    else
        layout_name(&runtime.layout, entry->python);
}

static void forget(struct entry *entry)
{
    process_close(&entry->process);
    entry->kind = KIND_OTHER;
    *entry->python = *entry->reason = *entry->user = '\0';
    entry->container = (struct container){ .id = "" };
}

static void examine(struct processes *processes, struct entry *entry, uint64_t now_ns)
{
    struct maps maps = { 0 };
    struct err err = { 0 };
    forget(entry);
    entry->again_ns = now_ns + OTHER_AGAIN_NS;
    if (process_open(&entry->process, entry->pid, NULL))
        return;
    const enum err_code rc = maps_read(&maps, entry->pid, NULL);
    if (rc == ERR_PERM && is_called_python(&entry->process)) {
        entry->kind = KIND_PYTHON;
        (void)!permission_explain(entry->pid, &err);
        refuse(entry, &err, now_ns);
    } else if (!rc) {
        const enum runtime_presence presence = presence_in(processes, entry->pid, &maps);
        if (presence != RUNTIME_ABSENT)
            find_python(entry, presence == RUNTIME_HIDDEN ? RUNTIME_HIDDEN_ONLY : RUNTIME_QUICK,
                        now_ns);
    }
    maps_deinit(&maps);
    close_files(&entry->process);
    if (entry->kind != KIND_PYTHON) {
        process_close(&entry->process);
        return;
    }
    if (processes->hides_arguments)
        process_hide_arguments(&entry->process);
    name_user(entry);
    container_of(entry->pid, &entry->container);
}

static void measure(const struct processes *processes, struct entry *entry,
                    const struct vitals *vitals, uint64_t now_ns)
{
    const uint64_t passed_ns = now_ns - entry->measured_ns;
    if (entry->measured_ns && passed_ns && vitals->cpu_ticks >= entry->vitals.cpu_ticks)
        entry->cpu_percent = 100.0 * (double)(vitals->cpu_ticks - entry->vitals.cpu_ticks) /
                             (double)processes->ticks_per_s /
                             ((double)passed_ns / (double)NS_PER_S);
    entry->measured_ns = now_ns;
    entry->vitals = *vitals;
}

static bool is_same_program(const struct vitals *a, const struct vitals *b)
{
    return a->start_ticks == b->start_ticks && a->stack_start == b->stack_start &&
           a->code_start == b->code_start;
}

/* false: it is gone. */
static bool renew(const struct processes *processes, struct entry *entry, uint64_t now_ns)
{
    struct vitals vitals;
    if (entry->kind == KIND_OTHER && now_ns < entry->again_ns &&
        (processes->summary.number + (uint64_t)entry->pid) % OTHERS_ASKED_EVERY)
        return true;
    if (vitals_read(entry->pid, &vitals, NULL) || vitals.state == 'Z' || vitals.state == 'X')
        return false;
    if (entry->measured_ns && !is_same_program(&vitals, &entry->vitals)) {
        entry->kind = KIND_NEW;
        entry->again_ns = entry->measured_ns = 0;
        entry->cpu_percent = -1;
    }
    measure(processes, entry, &vitals, now_ns);
    return true;
}

static struct entry *make_entry(int pid)
{
    struct entry *const entry = calloc(1, sizeof *entry);
    if (!entry)
        return NULL;
    entry->pid = pid;
    entry->cpu_percent = -1;
    entry->process.pidfd = entry->process.space_fd = -1;
    return entry;
}

static int compare(const void *a, const void *b)
{
    const int left = *(const int *)a, right = *(const int *)b;
    return (left > right) - (left < right);
}

/* The entries of these processes, by pid: those there were, and new ones. */
static enum err_code take_census(struct processes *processes, struct err *err)
{
    struct pid_list pids = { 0 };
    size_t count = 0, old = 0;
    const int own = (int)getpid();
    enum err_code rc = census_all(&pids, err);
    if (!rc)
        qsort(pids.items, pids.count, sizeof *pids.items, compare);
    const size_t most = pids.count < PROCESSES_MAX ? pids.count : PROCESSES_MAX;
    struct entry **const items = rc ? NULL : calloc(most + 1, sizeof *items);
    if (!rc && !items)
        rc = err_set(err, ERR_NOMEM, "no memory for a list of processes");
    for (size_t i = 0; !rc && i < most; i++) {
        while (old < processes->count && processes->items[old]->pid < pids.items[i])
            free_entry(processes->items[old++]);
        struct entry *entry = NULL;
        if (old < processes->count && processes->items[old]->pid == pids.items[i])
            entry = processes->items[old++];
        else if (pids.items[i] != own)
            entry = make_entry(pids.items[i]);
        if (entry)
            items[count++] = entry;
    }
    pid_list_deinit(&pids);
    if (rc)
        return rc;
    while (old < processes->count)
        free_entry(processes->items[old++]);
    free(processes->items);
    processes->items = items;
    processes->count = count;
    return ERR_OK;
}

/* One that is gone between the census and now stays away. */
static void renew_all(struct processes *processes, uint64_t now_ns)
{
    size_t kept = 0;
    for (size_t i = 0; i < processes->count; i++) {
        struct entry *const entry = processes->items[i];
        if (renew(processes, entry, now_ns))
            processes->items[kept++] = entry;
        else
            free_entry(entry);
    }
    processes->count = kept;
}

static void examine_all(struct processes *processes, uint64_t now_ns)
{
    struct processes_summary *const summary = &processes->summary;
    summary->count = summary->examining = 0;
    for (size_t i = 0; i < processes->count; i++) {
        struct entry *const entry = processes->items[i];
        const bool is_due = now_ns >= entry->again_ns;
        if (is_due && clock_now_ns() - now_ns < PROCESSES_LOOK_NS)
            examine(processes, entry, now_ns);
        else
            summary->examining += is_due;
        summary->count += entry->kind == KIND_PYTHON;
    }
}

static enum err_code look(struct processes *processes, struct err *err)
{
    const uint64_t now_ns = clock_now_ns();
    if (processes->looked_ns && now_ns - processes->looked_ns < PROCESSES_REST_NS)
        return ERR_OK;
    const enum err_code rc = take_census(processes, err);
    if (rc)
        return rc;
    processes->summary.number++;
    renew_all(processes, now_ns);
    examine_all(processes, now_ns);
    processes->looked_ns = now_ns;
    processes->summary.at_ns = clock_wall_ns();
    return ERR_OK;
}

static void tell_one(const struct processes *processes, const struct entry *entry,
                     processes_tell tell, void *context)
{
    const struct process *const process = &entry->process;
    const uint64_t started_at_ns =
        processes->boot_ns +
        entry->vitals.start_ticks * (NS_PER_S / (uint64_t)processes->ticks_per_s);
    const uint64_t at_ns = processes->summary.at_ns;
    const struct process_facts facts = {
        .pid = entry->pid,
        .parent = entry->vitals.parent,
        .argc = process->argc,
        .argv = (const char *const *)process->argv,
        .executable = process->executable && *process->executable ? process->executable : NULL,
        .python = *entry->python ? entry->python : NULL,
        .uid = entry->uid,
        .user = entry->user,
        .container = *entry->container.id ? entry->container.id : NULL,
        .container_name = entry->container.name,
        .threads = entry->vitals.threads,
        .cpu_percent = entry->cpu_percent,
        .rss_bytes = entry->vitals.rss_bytes,
        .started_at_ns = started_at_ns,
        .uptime_ns = at_ns > started_at_ns ? at_ns - started_at_ns : 0,
        .reason = *entry->reason ? entry->reason : NULL,
    };
    tell(context, &facts);
}

enum err_code processes_visit(struct processes *processes, processes_tell tell, void *context,
                              struct processes_summary *out, struct err *err)
{
    pthread_mutex_lock(&processes->lock);
    const enum err_code rc = look(processes, err);
    for (size_t i = 0; !rc && tell && i < processes->count; i++)
        if (processes->items[i]->kind == KIND_PYTHON)
            tell_one(processes, processes->items[i], tell, context);
    if (!rc)
        *out = processes->summary;
    pthread_mutex_unlock(&processes->lock);
    return rc;
}
