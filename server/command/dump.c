#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/base/thread.h"
#include "sampler/core.h"
#include "sampler/process_tree.h"
#include "sampler/session.h"
#include "server/command/command.h"
#include "server/command/dump_targets.h"
#include "server/command/options/options.h"
#include "server/command/process/exit.h"
#include "server/command/process/privilege.h"
#include "server/sessions/dump_json.h"
#include "server/sessions/dump_merge.h"
#include "server/sessions/dump_motion.h"
#include "server/sessions/dump_text.h"
#include "server/sessions/shared_locks.h"
#include "server/source/helper.h"

/* A reading is mostly waiting for ticks, so several are made at a time.  Of a text that waits for others to be read, who holds its
 * locks is left out if there are more bytes. */
enum { MAX_READERS = 24, MAX_UNPRINTED_BYTES = 64 << 20 };

/* How one process went. */
struct dumped {
    struct buffer text; /* of the process alone, as text or JSON */
    enum err_code rc;
    struct err err;
    bool is_done;
};

/* A dump of all processes, by several threads. */
struct dumping {
    const struct options *options;
    struct dump_request request;
    struct dump_view view;
    struct dump_targets targets;
    struct dumped *items; /* of the targets */
    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    size_t next, done, unprinted_bytes;
    bool is_last; /* of the readings of a process */
    bool has_said_deadlocks;
    bool is_solved; /* the deadlocks of several processes are known */
    bool merges;
    struct dump_merge merge; /* and who shares locks, also of processes that are not merged */
    struct dump_motion motion;
    size_t deadlocks, python_count;
};

static bool lists_tasks(const struct options *options)
{
    return options->sampling.async == SESSION_ASYNC_ALL || !options->names_async_mode;
}

/* exit_flush reports a failure. */
static bool print(void *to, const char *data, size_t bytes)
{
    (void)fwrite(data, 1, bytes, to);
    return true;
}

/* Writes a process as text or JSON, or adds it to the merge.  Calls with the lock. */
static enum err_code put_process(struct dumping *dumping, struct dump *dump,
                                 const struct process_facts *facts, struct dumped *out)
{
    struct json json;
    dumping->deadlocks += lock_graph_count_cycles(&dump->locks);
    dumping->python_count++;
    if (dumping->merges)
        return dump_text_merge(&dumping->merge, dump, &dumping->view, facts, &out->err);
    const enum err_code rc = dumping->targets.count > 1 && !dump->core
                                 ? shared_locks_add(&dumping->merge.shared, dump, &out->err)
                                 : ERR_OK;
    if (rc)
        return rc;
    if (!dumping->options->writes_json) {
        dump_text_write(&out->text, dump, &dumping->view, facts);
        return buffer_check(&out->text, &out->err);
    }
    json_init(&json, &out->text);
    dump_write_json_with(&json, dump, dumping->view.shows_tasks, &dumping->view, facts);
    return json_finish(&json, &out->err);
}

/* A process that is found among others need not be Python. */
static enum err_code put_other(struct dumping *dumping, pid_t pid,
                               const struct process_facts *facts, struct dumped *out)
{
    struct buffer what = { 0 };
    struct json json;
    enum err_code rc = ERR_OK;
    dump_text_facts(&what, facts);
    if (dumping->merges) {
        const char *const text = buffer_string(&what);
        rc = text ? dump_merge_process(&dumping->merge, pid, -1, NULL, text, &out->err)
                  : err_nomem(&out->err);
    } else if (!dumping->options->writes_json) {
        buffer_printf(&out->text, "process %d, no Python: ", (int)pid);
        buffer_append(&out->text, what.data, what.length);
        buffer_char(&out->text, '\n');
        rc = buffer_check(&out->text, &out->err);
    } else {
        json_init(&json, &out->text);
        dump_write_json_facts(&json, pid, facts);
        rc = json_finish(&json, &out->err);
    }
    buffer_deinit(&what);
    return rc;
}

static enum err_code dump_process(struct dumping *dumping, pid_t pid, struct dumped *out)
{
    const bool is_native = dumping->request.native == SESSION_NATIVE_FULL;
    struct process_facts facts;
    struct dump dump;
    memset(&out->err, 0, sizeof out->err);
    if (process_facts_read(pid, &facts))
        return err_set(&out->err, ERR_GONE, "no process %d", (int)pid);
    enum err_code rc = dump_check_memory(pid, &facts, &out->err);
    if (!rc)
        rc = dump_take(&dump, pid, &dumping->request, NULL, &out->err);
    if (!rc && dump.count == 0) {
        dump_deinit(&dump);
        return err_set(&out->err, ERR_CORRUPT, "no thread of process %d can be read", (int)pid);
    }
    if (rc && rc != ERR_NOT_PYTHON)
        return rc;
    const bool is_python = !rc;
    pthread_mutex_lock(&dumping->lock);
    if (is_python && dumping->options->dump.repeat > 1)
        rc = dump_motion_note(&dumping->motion, &dump, !is_native, &out->err);
    if (is_python && !rc && dumping->is_last)
        rc = put_process(dumping, &dump, &facts, out);
    else if (!is_python && dumping->is_last && dumping->options->sampling.subprocesses)
        rc = put_other(dumping, pid, &facts, out);
    pthread_mutex_unlock(&dumping->lock);
    if (is_python)
        dump_deinit(&dump);
    return rc;
}

/* With all our rights, of which access(2) knows nothing. */
static bool is_there(const char *path)
{
    return faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0;
}

/* Finds a program as a shell does, where no file here has that name; NULL stays NULL. */
static const char *find_program(const char *name, char room[PATH_MAX])
{
    const char *at = getenv("PATH");
    if (!name || strchr(name, '/') || is_there(name))
        return name;
    while (at && *at) {
        const size_t length = strcspn(at, ":");
        if (length && snprintf(room, PATH_MAX, "%.*s/%s", (int)length, at, name) < PATH_MAX &&
            is_there(room))
            return room;
        at += length + (at[length] == ':');
    }
    return name;
}

/* Without its program, an interpreter may not be found, or its objects have no types. */
static enum err_code dump_core(struct dumping *dumping, const char *file, struct dumped *out)
{
    static const struct process_facts facts = { .state = '?', .rank = -1 };
    char warning[SESSION_CORE_WARNING_BYTES], room[PATH_MAX];
    const char *const program = find_program(dumping->options->executable, room);
    struct session_core *core = NULL;
    struct err why = { 0 };
    struct dump dump;
    enum err_code rc = session_core_open(file, program, &core, &out->err);
    if (rc)
        return rc;
    rc = dump_take(&dump, session_core_facts(core)->number, &dumping->request, NULL, &why);
    if (!rc) {
        dump.core = core;
        rc = dump.count > 0 ? put_process(dumping, &dump, &facts, out)
                            : err_set(&why, ERR_FAULT, "no thread can be read");
        dump_deinit(&dump);
    }
    if (rc && session_core_warning(core, 0, warning))
        err_set(&out->err, rc, "%.60s: %.100s; %.150s", file, why.message, warning);
    else if (rc)
        err_set(&out->err, rc, "%.100s: %.200s", file, why.message);
    /* A search that takes too long is left behind, and may still read the core. */
    if (rc != ERR_LIMIT)
        session_core_close(core);
    return rc;
}

static void *read_processes(void *context)
{
    struct dumping *const dumping = context;
    pthread_mutex_lock(&dumping->lock);
    for (;;) {
        while (dumping->next < dumping->targets.count &&
               dumping->unprinted_bytes >= MAX_UNPRINTED_BYTES)
            pthread_cond_wait(&dumping->changed, &dumping->lock);
        if (dumping->next == dumping->targets.count)
            break;
        const size_t at = dumping->next++;
        pthread_mutex_unlock(&dumping->lock);
        const enum err_code rc =
            dump_process(dumping, dumping->targets.pids[at], &dumping->items[at]);
        pthread_mutex_lock(&dumping->lock);
        dumping->done++;
        dumping->unprinted_bytes += dumping->items[at].text.length;
        dumping->items[at].rc = rc;
        dumping->items[at].is_done = true;
        pthread_cond_broadcast(&dumping->changed);
    }
    pthread_mutex_unlock(&dumping->lock);
    return NULL;
}

/* Fills the gaps of a process with what is known of others.  Calls with the lock. */
static enum err_code fill_gaps(struct dumping *dumping, struct dumped *item)
{
    struct buffer text = { 0 };
    enum err_code rc = ERR_OK;
    if (dumping->done == dumping->targets.count && !dumping->is_solved)
        rc = shared_locks_solve(&dumping->merge.shared, &item->err);
    dumping->is_solved |= dumping->done == dumping->targets.count;
    if (!rc)
        rc = shared_locks_fill(&dumping->merge.shared, item->text.data, item->text.length,
                               &text, &item->err);
    buffer_deinit(&item->text);
    item->text = text;
    return rc;
}

/* Prints the deadlocks of several processes, once.  Calls when all are read. */
static enum err_code print_shared_deadlocks(struct dumping *dumping, struct err *err)
{
    struct buffer text = { 0 };
    if (dumping->has_said_deadlocks)
        return ERR_OK;
    enum err_code rc =
        dumping->is_solved ? ERR_OK : shared_locks_solve(&dumping->merge.shared, err);
    dumping->is_solved = !rc;
    if (!rc) {
        shared_locks_put_deadlocks(&dumping->merge.shared, &text);
        rc = buffer_check(&text, err);
    }
    dumping->has_said_deadlocks = !rc;
    (void)print(stdout, text.data, text.length);
    buffer_deinit(&text);
    return rc;
}

/* Prints what each process alone is, in their order; above it the deadlocks of several, unless what is read has no room until all
 * are. */
static void print_processes(struct dumping *dumping)
{
    size_t written = 0;
    struct err ignored;
    if (dumping->is_last && !dumping->merges && !dumping->options->writes_json) {
        pthread_mutex_lock(&dumping->lock);
        while (dumping->done < dumping->targets.count &&
               dumping->unprinted_bytes < MAX_UNPRINTED_BYTES)
            pthread_cond_wait(&dumping->changed, &dumping->lock);
        /* A failure is said at the end, where it is tried again. */
        if (dumping->done == dumping->targets.count)
            (void)!print_shared_deadlocks(dumping, &ignored);
        pthread_mutex_unlock(&dumping->lock);
    }
    for (size_t i = 0; i < dumping->targets.count; i++) {
        struct dumped *const item = &dumping->items[i];
        pthread_mutex_lock(&dumping->lock);
        while (!item->is_done)
            pthread_cond_wait(&dumping->changed, &dumping->lock);
        const size_t bytes = item->text.length;
        const bool has_gap = shared_locks_has_gap(item->text.data, bytes);
        while (has_gap && dumping->done < dumping->targets.count &&
               dumping->unprinted_bytes < MAX_UNPRINTED_BYTES)
            pthread_cond_wait(&dumping->changed, &dumping->lock);
        if (has_gap && !item->rc)
            item->rc = fill_gaps(dumping, item);
        dumping->unprinted_bytes -= bytes;
        pthread_cond_broadcast(&dumping->changed);
        pthread_mutex_unlock(&dumping->lock);
        if (item->text.length && dumping->options->writes_json && written++)
            (void)print(stdout, ",", 1);
        (void)print(stdout, item->text.data, item->text.length);
        buffer_deinit(&item->text);
        item->is_done = false;
    }
}

/* Reads each process once. */
static enum err_code read_all(struct dumping *dumping, struct err *err)
{
    pthread_t readers[MAX_READERS];
    size_t count = 0;
    int sys = 0;
    dumping->next = dumping->done = dumping->unprinted_bytes = 0;
    while (count < MAX_READERS && count < dumping->targets.count && !sys) {
        sys = thread_start(&readers[count], read_processes, dumping);
        count += sys == 0;
    }
    if (count)
        print_processes(dumping);
    for (size_t i = 0; i < count; i++)
        pthread_join(readers[i], NULL);
    return count || dumping->targets.count == 0 ? ERR_OK
                                                : err_sys(err, sys, "cannot start a thread");
}

/* Reads all as often as wanted, with the interval between the end of one reading and the begin of the next. */
static enum err_code read_repeatedly(struct dumping *dumping, struct err *err)
{
    const struct dump_settings *const settings = &dumping->options->dump;
    const struct timespec interval = { .tv_sec = (time_t)(settings->interval_ns / NS_PER_S),
                                       .tv_nsec = (long)(settings->interval_ns % NS_PER_S) };
    enum err_code rc = ERR_OK;
    for (uint32_t i = 1; i <= settings->repeat && !rc; i++) {
        dumping->is_last = i == settings->repeat;
        rc = read_all(dumping, err);
        if (!dumping->is_last)
            (void)nanosleep(&interval, NULL);
    }
    return rc;
}

/* A named process that cannot be read is an error.  Of the others, those that cannot be read are said, and are no error unless there is no
 * other one. */
static void add_failures(const struct dumping *dumping, enum err_code *rc, struct err *first)
{
    for (size_t i = 0; i < dumping->targets.count; i++) {
        const struct dumped *const item = &dumping->items[i];
        const bool is_named = dump_targets_is_named(dumping->options, dumping->targets.pids[i]);
        if (item->rc && (is_named || dumping->python_count == 0))
            exit_add(item->rc, &item->err, rc, first);
        else if (item->rc && item->rc != ERR_GONE && item->rc != ERR_NOT_PYTHON)
            say("%s", item->err.message);
    }
    if (dumping->targets.unreadable)
        say("%zu more Python process%s cannot be read: pyrometer doctor says why",
            dumping->targets.unreadable, dumping->targets.unreadable == 1 ? "" : "es");
    if (dumping->targets.unexamined)
        say("%zu process%s left out: finding their interpreters takes too long",
            dumping->targets.unexamined, dumping->targets.unexamined == 1 ? " was" : "es were");
}

/* Prints each core file; one that cannot be read does not hide the others. */
static void print_cores(struct dumping *dumping, enum err_code *rc, struct err *first)
{
    const struct options *const options = dumping->options;
    for (size_t i = 0; i < options->file_count; i++) {
        struct dumped item = { .rc = ERR_OK };
        const bool is_first = dumping->python_count == 0;
        item.rc = dump_core(dumping, options->files[i], &item);
        if (item.text.length && options->writes_json && !is_first)
            (void)print(stdout, ",", 1);
        (void)print(stdout, item.text.data, item.text.length);
        buffer_deinit(&item.text);
        exit_add(item.rc, &item.err, rc, first);
    }
}

static enum err_code check_conditions(const struct options *options, struct err *err)
{
    for (size_t i = 0; i < options->fail_ifs.count; i++)
        if (strcmp(options->fail_ifs.items[i], "deadlock") != 0)
            return err_set(err, ERR_INVALID,
                           "--fail-if %s: a dump knows one condition: deadlock",
                           options->fail_ifs.items[i]);
    return ERR_OK;
}

static enum err_code print_merge(struct dumping *dumping, struct err *err)
{
    struct buffer text;
    buffer_init_draining(&text, print, stdout);
    enum err_code rc = dump_merge_write(&dumping->merge, dumping->view.shows_idle, &text, err);
    buffer_flush(&text);
    if (!rc)
        rc = buffer_check(&text, err);
    buffer_deinit(&text);
    return rc;
}

static enum err_code dump_all(struct dumping *dumping, struct err *err)
{
    const struct options *const options = dumping->options;
    enum err_code rc = dump_targets_find(options, &dumping->targets, err);
    if (rc)
        return rc;
    dumping->items = calloc(dumping->targets.count + 1, sizeof *dumping->items);
    if (!dumping->items)
        return err_nomem(err);
    dumping->merges = dumping->targets.count > 1 && options->file_count == 0 &&
                      !options->writes_json && !options->dump.each;
    rc = dump_merge_init(&dumping->merge, err);
    if (rc)
        return rc;
    if (options->writes_json)
        (void)print(stdout, "[", 1);
    rc = read_repeatedly(dumping, err);
    if (!rc && dumping->merges && dumping->merge.process_count)
        rc = print_merge(dumping, err);
    if (!rc && !dumping->merges && !options->writes_json)
        rc = print_shared_deadlocks(dumping, err);
    dumping->deadlocks += dumping->merge.shared.deadlock_count;
    add_failures(dumping, &rc, err);
    print_cores(dumping, &rc, err);
    if (options->writes_json)
        (void)print(stdout, "]\n", 2);
    return rc;
}

int command_dump(const struct options *options)
{
    struct err first = { 0 };
    struct dumping dumping = {
        .options = options,
        /* Tasks that wait are listed, not sampled; they may hold a lock, so they are read unless that is not wanted. */
        .request = { .async = options->sampling.async || !options->names_async_mode
                                  ? SESSION_ASYNC_RUNNING
                                  : SESSION_ASYNC_OFF,
                     .shows_tasks = options->sampling.async,
                     .native =
                         options->shows_native ? SESSION_NATIVE_FULL : SESSION_NATIVE_LEAF,
                     .instructions = options->dump.repeat > 1,
                     .locals = options->dump.locals,
                     .stop = options->shows_native || options->dump.locals
                                 ? SESSION_STOP_ALWAYS
                                 : SESSION_STOP_AUTO },
        .view = { .shows_idle = options->shows_idle,
                  .shows_tasks = options->sampling.async && lists_tasks(options),
                  .shows_kernel = options->dump.kernel,
                  .dumps = options->dump.repeat,
                  .apart_ns = (options->dump.repeat - 1) * options->dump.interval_ns },
        .lock = PTHREAD_MUTEX_INITIALIZER,
        .changed = PTHREAD_COND_INITIALIZER,
    };
    if (options->dump.repeat > 1)
        dumping.view.motion = &dumping.motion;
    enum err_code rc = check_conditions(options, &first);
    /* Before the rights are dropped and threads begin.  It reads the source lines that name locks. */
    if (!rc && !options->report.no_source)
        rc = source_helper_start(&first);
    if (!rc)
        rc = privilege_drop(options, &first);
    if (!rc)
        rc = dump_all(&dumping, &first);
    dump_merge_deinit(&dumping.merge);
    dump_motion_deinit(&dumping.motion);
    dump_targets_deinit(&dumping.targets);
    free(dumping.items);
    source_helper_stop();
    const int status = exit_with(rc, &first);
    return status == EXIT_DONE && dumping.deadlocks && options->fail_ifs.count ? EXIT_CONDITION
                                                                               : status;
}
