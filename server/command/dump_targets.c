#include "server/command/dump_targets.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sampler/base/clock.h"
#include "sampler/base/vec.h"
#include "sampler/process_tree.h"
#include "sampler/processes.h"
#include "server/command/options/options.h"
#include "server/source/helper.h"

enum { POLL_MS = 10 };
static const uint64_t MOST_NS = 60 * NS_PER_S;

void dump_targets_deinit(struct dump_targets *targets)
{
    free(targets->pids);
    *targets = (struct dump_targets){ .pids = NULL };
}

bool dump_targets_is_named(const struct options *options, pid_t pid)
{
    for (size_t i = 0; i < options->sampling.pid_count; i++)
        if (options->sampling.pids[i] == pid)
            return true;
    return false;
}

struct found {
    struct dump_targets *targets;
    size_t room;
    bool lacks_memory;
};

/* A pattern without wildcards is a part of the command line. */
static bool is_wanted(const void *context, const char *command)
{
    const struct setting_texts *const patterns = context;
    for (size_t i = 0; i < patterns->count; i++) {
        const char *const pattern = patterns->items[i];
        if (strpbrk(pattern, "*?[") ? fnmatch(pattern, command, 0) == 0
                                    : strstr(command, pattern) != NULL)
            return true;
    }
    return false;
}

static void take_process(void *context, const struct process_info *info)
{
    struct found *const found = context;
    struct dump_targets *const targets = found->targets;
    if (info->reason) {
        targets->unreadable++;
        return;
    }
    if (targets->count == PROCESS_TREE_MAX)
        return;
    if (VEC_RESERVE(targets->pids, found->room, targets->count + 1))
        targets->pids[targets->count++] = info->pid;
    else
        found->lacks_memory = true;
}

/* Waits while processes of the host are being examined, but not for one that is slow on purpose. */
static enum err_code list_python(struct dump_targets *out, struct err *err)
{
    struct found found = { .targets = out };
    struct processes *processes = NULL;
    struct processes_summary summary = { .examining = 1 };
    const struct timespec rest = { .tv_nsec = POLL_MS * (long)NS_PER_MS };
    const uint64_t end_ns = clock_now_ns() + MOST_NS;
    uint64_t moved_ns = clock_now_ns();
    enum err_code rc = processes_create(&processes, err);
    while (!rc && summary.examining) {
        const size_t before = summary.examining;
        rc = processes_visit(processes, NULL, NULL, &summary, err);
        const uint64_t now_ns = clock_now_ns();
        if (summary.examining != before)
            moved_ns = now_ns;
        if (now_ns > end_ns || now_ns - moved_ns > PROCESSES_STUCK_NS)
            break;
        if (!rc && summary.examining)
            (void)nanosleep(&rest, NULL);
    }
    if (!rc)
        rc = processes_visit(processes, take_process, &found, &summary, err);
    out->unexamined = summary.examining;
    processes_destroy(processes);
    return rc ? rc : found.lacks_memory ? err_nomem(err) : ERR_OK;
}

/* Replaces the processes by them and all their descendants. */
static enum err_code add_children(struct dump_targets *targets, struct err *err)
{
    pid_t *all = NULL;
    size_t count = 0;
    const enum err_code rc =
        process_tree_list(targets->pids, targets->count, &all, &count, err);
    if (rc)
        return rc;
    free(targets->pids);
    targets->pids = all;
    targets->count = count;
    return ERR_OK;
}

/* The process that reads source files has our command line. */
static void leave_out_helper(struct dump_targets *targets)
{
    size_t kept = 0;
    for (size_t i = 0; i < targets->count; i++)
        if (targets->pids[i] != source_helper_pid())
            targets->pids[kept++] = targets->pids[i];
    targets->count = kept;
}

enum err_code dump_targets_find(const struct options *options, struct dump_targets *out,
                                struct err *err)
{
    const struct session_options *const sampling = &options->sampling;
    enum err_code rc = ERR_OK;
    *out = (struct dump_targets){ .are_named = sampling->pid_count > 0 };
    if (out->are_named) {
        out->pids = malloc(sampling->pid_count * sizeof *out->pids);
        if (!out->pids)
            return err_nomem(err);
        memcpy(out->pids, sampling->pids, sampling->pid_count * sizeof *out->pids);
        out->count = sampling->pid_count;
    } else if (options->dump.commands.count) {
        rc = process_find_commands(is_wanted, &options->dump.commands, &out->pids, &out->count,
                                   err);
        leave_out_helper(out);
    } else if (options->file_count == 0) {
        rc = list_python(out, err);
    }
    if (!rc && sampling->subprocesses)
        rc = add_children(out, err);
    if (!rc && out->count == 0 && options->file_count == 0)
        rc =
            out->unreadable
                ? err_set(err, ERR_PERM,
                          "%zu Python process%s cannot be read: pyrometer doctor says why",
                          out->unreadable, out->unreadable == 1 ? "" : "es")
                : err_set(
                      err, ERR_GONE, "no Python process%s",
                      sampling->all
                          ? ""
                          : " has such a command line: --command matches it whole, or without * a part of it");
    if (rc)
        dump_targets_deinit(out);
    return rc;
}
