#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "sampler/base/clock.h"
#include "sampler/base/scoped.h"
#include "sampler/discovery/turns.h"
#include "sampler/process/process_scan.h"
#include "sampler/process/process_stats.h"
#include "sampler/profile/profile.h"
#include "sampler/session/loop_parts.h"

void loop_grow(struct loop *loop)
{
    struct target *target = NULL;
    while (loop->tracker && (target = child_tracker_take(loop->tracker)))
        if (targets_add(&loop->targets, target, NULL)) {
            child_tracker_refuse(loop->tracker, &target->process);
            target_close(target);
        }
    while ((target = attach_queue_take(&loop->queue)))
        if (targets_add(&loop->targets, target, NULL))
            target_close(target);
}

static enum err_code attach_one(struct loop *loop, int pid, enum runtime_effort effort,
                                struct err *err)
{
    struct target *target = NULL;
    enum err_code rc = target_open(pid, effort, loop->options.mode, loop->options.is_cancelled,
                                   profile_strings(loop->targets.profile), &target, err);
    if (!rc && (rc = targets_add(&loop->targets, target, err)))
        target_close(target);
    if (!rc && loop->tracker)
        rc = child_tracker_follow(loop->tracker, pid, true, err);
    return rc;
}

/* All processes but ourselves, owners by turns. */
static enum err_code list_all(struct turn_item **out, size_t *count_out, struct err *err)
{
    struct pid_list pids = { 0 };
    size_t count = 0;
    const enum err_code rc = process_scan_all(&pids, err);
    if (rc)
        return rc;
    struct turn_item *const items = calloc(pids.count + 1, sizeof *items);
    for (size_t i = 0; items && i < pids.count; i++)
        if (pids.items[i] != (int)getpid() &&
            !process_stats_user(pids.items[i], &items[count].uid, NULL))
            items[count++].pid = pids.items[i];
    pid_list_deinit(&pids);
    if (!items)
        return err_nomem(err);
    turns_sort(items, count);
    *out = items;
    *count_out = count;
    return ERR_OK;
}

/* Every Python process that we may read; what is none, or another's, is passed over, and so are those of
 * an owner whose processes took too long by then. */
static enum err_code attach_all(struct loop *loop, struct err *err)
{
    SCOPED_FREE struct turn_item *items = NULL;
    struct debts debts = { .items = { { 0 } } };
    size_t count = 0;
    uint64_t over = 0, unfit = 0;
    enum err_code rc = list_all(&items, &count, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < count && rc != ERR_NOMEM; i++) {
        const uint64_t began_ns = clock_now_ns();
        if (debts_rest_until_ns(&debts, items[i].uid, began_ns)) {
            over++;
            continue;
        }
        rc = attach_one(loop, items[i].pid, RUNTIME_QUICK, NULL);
        const uint64_t now_ns = clock_now_ns();
        /* Root's processes are made to be slow by nobody, only by a busy machine. */
        if (items[i].uid != 0)
            debts_charge(&debts, items[i].uid, now_ns - began_ns, now_ns);
        over += rc == ERR_LIMIT;
        unfit += rc == ERR_INVALID;
    }
    target_table_left_out(&loop->targets.target_table, over, unfit);
    if (rc == ERR_NOMEM)
        return err_nomem(err);
    if (loop->targets.count == 0)
        return err_set(err, ERR_NOT_PYTHON, "there is no Python process that we may read%s",
                       unfit ? " and that tells what the mode keeps" : "");
    return ERR_OK;
}

/* What is no Python may have children that are, where these are wanted. */
static enum err_code attach_named(struct loop *loop, int pid, struct err *err)
{
    struct err own = { 0 };
    enum err_code rc = attach_one(loop, pid, RUNTIME_THOROUGH, &own);
    if (rc == ERR_NOT_PYTHON && loop->tracker)
        return child_tracker_follow(loop->tracker, pid, false, err);
    return rc ? err_set(err, rc, "%s", own.message) : ERR_OK;
}

static enum err_code attach_family(struct loop *loop, struct err *err)
{
    child_tracker_scan_once(loop->tracker);
    loop_grow(loop);
    if (loop->targets.count > 0)
        return ERR_OK;
    return err_set(err, ERR_NOT_PYTHON,
                   "process %d is not a Python process, and has none below it",
                   (int)loop->options.pids[0]);
}

static void give_back(void *context, const struct process *process)
{
    child_tracker_release(context, process);
}

static enum err_code follow(struct loop *loop, struct err *err)
{
    const enum err_code rc =
        child_tracker_create(profile_strings(loop->targets.profile), loop->options.mode,
                             loop->options.adopts, loop->options.helper, &loop->tracker, err);
    loop->targets.left = rc ? NULL : give_back;
    loop->targets.context = loop->tracker;
    return rc;
}

enum err_code loop_attach(struct loop *loop, struct err *err)
{
    enum err_code rc = targets_init(&loop->targets, &loop->options, err);
    if (!rc && loop->options.subprocesses)
        rc = follow(loop, err);
    if (!rc && loop->options.all)
        rc = attach_all(loop, err);
    for (size_t i = 0; i < loop->options.pid_count && !rc; i++)
        rc = attach_named(loop, loop->options.pids[i], err);
    if (!rc && loop->tracker)
        rc = attach_family(loop, err);
    return rc;
}
