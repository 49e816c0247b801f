#include "server/sessions/dump_motion.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/hash.h"
#include "sampler/base/vec.h"
#include "sampler/process_tree.h"
#include "server/sessions/dump.h"

void dump_motion_deinit(struct dump_motion *motion)
{
    idmap_deinit(&motion->by_thread);
    free(motion->items);
    memset(motion, 0, sizeof *motion);
}

static uint64_t add_bytes(uint64_t hash, const void *data, size_t bytes)
{
    static const uint64_t prime = UINT64_C(0x100000001b3); /* FNV-1a */
    const unsigned char *const at = data;
    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ at[i]) * prime;
    return hash;
}

static uint64_t add_text(uint64_t hash, const struct profile_snapshot *snapshot, str_id id)
{
    const struct strtab_string text = profile_string(snapshot, id);
    return add_bytes(hash, text.text, text.length + 1);
}

/* Ids of one profile mean nothing in another one, so texts count. */
static uint64_t hash_stack(const struct profile_snapshot *snapshot, const struct dump_row *row)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (node_id node = row->node; node; node = profile_node_at(snapshot, node).parent) {
        const struct profile_frame frame =
            profile_frame_at(snapshot, profile_node_at(snapshot, node).frame);
        const struct profile_function function = profile_function_at(snapshot, frame.function);
        /* The cause of a wait is read from outside, and may be unknown at times. */
        if (function.waits != WAIT_UNKNOWN)
            continue;
        hash = add_text(hash, snapshot, function.name);
        hash = add_text(hash, snapshot, function.file);
        hash = add_bytes(hash, &frame.line, sizeof frame.line);
    }
    for (uint32_t spot = row->spot; spot != PROFILE_NO_SPOT;) {
        const struct profile_spot at = profile_spot_at(snapshot, spot);
        const int32_t place[] = { at.line, at.end_line, at.column, at.end_column };
        hash = add_bytes(hash, place, sizeof place);
        hash = add_text(hash, snapshot, at.base);
        spot = at.caller - 1;
    }
    return hash;
}

static struct idmap_slot *find_thread(const struct dump_motion *motion, int32_t pid,
                                      int32_t tid)
{
    const uint32_t hash = hash_mix((uint64_t)pid, (uint64_t)tid);
    struct idmap_slot *at;
    IDMAP_FIND(at, &motion->by_thread, hash,
               motion->items[at->id].pid == pid && motion->items[at->id].tid == tid);
    return at;
}

static enum err_code note_thread(struct dump_motion *motion, const struct thread_motion *now,
                                 struct err *err)
{
    const struct idmap_slot *const at = find_thread(motion, now->pid, now->tid);
    if (at) {
        struct thread_motion *const before = &motion->items[at->id];
        before->readings++;
        before->has_moved |= before->stack != now->stack;
        before->has_moved |= before->waits != now->waits && before->waits != UINT64_MAX &&
                             now->waits != UINT64_MAX;
        before->stack = now->stack;
        before->waits = now->waits;
        return ERR_OK;
    }
    if (!VEC_RESERVE(motion->items, motion->room, motion->count + 1))
        return err_nomem(err);
    motion->items[motion->count] = *now;
    const enum err_code rc =
        idmap_add(&motion->by_thread, hash_mix((uint64_t)now->pid, (uint64_t)now->tid),
                  (uint32_t)motion->count, err);
    motion->count += !rc;
    return rc;
}

enum err_code dump_motion_note(struct dump_motion *motion, const struct dump *dump,
                               bool counts_waits, struct err *err)
{
    const struct profile_snapshot *const snapshot = &dump->snapshot;
    const pid_t pid = session_target(dump->session)->pid;
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < dump->count && !rc; i++) {
        const struct dump_row *const row = &dump->rows[i];
        struct thread_motion now = { .pid = pid,
                                     .tid = profile_thread_at(snapshot, row->thread).tid,
                                     .stack = hash_stack(snapshot, row),
                                     .waits = UINT64_MAX,
                                     .readings = 1 };
        if (now.tid <= 0)
            continue;
        if (counts_waits &&
            !(row->state & (STATE_ON_CPU | STATE_UNKNOWN_ON_CPU | STATE_WAITS_GIL)))
            (void)process_thread_waits(pid, now.tid, &now.waits);
        rc = note_thread(motion, &now, err);
    }
    return rc;
}

enum motion dump_motion_of(const struct dump_motion *motion, int32_t pid, int32_t tid,
                           uint32_t dumps)
{
    const struct idmap_slot *const at = find_thread(motion, pid, tid);
    const struct thread_motion *const thread = at ? &motion->items[at->id] : NULL;
    if (!thread || thread->readings < 2)
        return MOTION_UNKNOWN;
    if (thread->has_moved)
        return MOTION_MOVES;
    return thread->readings == dumps ? MOTION_STUCK : MOTION_UNKNOWN;
}
