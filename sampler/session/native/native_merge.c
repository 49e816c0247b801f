#include "sampler/session/native/native_merge.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"

/* A run's place if it has none. */
static const size_t UNKNOWN = SIZE_MAX, OUTSIDE = SIZE_MAX - 1;

enum { MAX_FUNCTIONS = 4 /* that the evaluation function consists of: compilers split it */ };

struct merger {
    struct native_merge *merge;
    struct native_runs runs;
    const struct native_walk *walk;
    const enum native_role *roles;
    remote_addr functions[MAX_FUNCTIONS];
    size_t function_count;
    size_t native_count; /* the innermost frames of the walk, which are emitted */
    size_t next_python;
};

void native_merge_deinit(struct native_merge *merge)
{
    free(merge->frames);
    free(merge->places);
    memset(merge, 0, sizeof *merge);
}

static enum err_code emit(struct merger *m, enum merged_kind kind, size_t index)
{
    struct native_merge *const merge = m->merge;
    if (kind == MERGED_GAP) {
        merge->has_gaps = true;
        if (merge->count && merge->frames[merge->count - 1].kind == MERGED_GAP)
            return ERR_OK;
    }
    if (!VEC_RESERVE(merge->frames, merge->room, merge->count + 1))
        return ERR_NOMEM;
    merge->frames[merge->count++] = (struct merged_frame){ .kind = kind, .index = index };
    return ERR_OK;
}

static enum err_code emit_run(struct merger *m, size_t run)
{
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < m->runs.items[run].count && !rc; i++)
        rc = emit(m, MERGED_PYTHON, m->next_python++);
    return rc;
}

static bool holds(const struct native_frame *frame, remote_addr entry)
{
    return frame->sp <= entry && entry < frame->cfa;
}

/* The end of the known frames. */
static remote_addr outer_end(const struct native_walk *walk)
{
    const struct native_frame *const outermost = &walk->frames[walk->count - 1];
    return outermost->cfa ? outermost->cfa : outermost->sp;
}

static void note_function(struct merger *m, remote_addr function)
{
    for (size_t i = 0; i < m->function_count; i++)
        if (m->functions[i] == function)
            return;
    if (function && m->function_count < MAX_FUNCTIONS)
        m->functions[m->function_count++] = function;
}

/* Places the runs by their entries.  A frame of code holds at most one. */
static bool place_by_entries(struct merger *m)
{
    const struct native_walk *const walk = m->walk;
    size_t left = walk->count; /* frames up to the one that the last run stands in */
    bool is_outside = walk->end != NATIVE_COMPLETE;
    for (size_t run = 0; run < m->runs.count; run++) {
        const remote_addr entry = m->runs.items[run].entry;
        if (run && entry >= m->runs.items[run - 1].entry)
            return false;
        m->merge->places[run] = OUTSIDE;
        is_outside = is_outside && entry >= outer_end(walk);
        if (is_outside)
            continue;
        while (left && !holds(&walk->frames[left - 1], entry))
            left--;
        if (!left)
            return false;
        m->merge->places[run] = left - 1;
        if (walk->frames[left - 1].kind == NATIVE_GAP)
            continue;
        note_function(m, walk->frames[left - 1].function);
        left--;
    }
    return true;
}

static bool is_evaluation(const struct merger *m, size_t frame)
{
    if (m->walk->frames[frame].kind == NATIVE_ENTRY ||
        m->roles[frame] == NATIVE_ROLE_EVALUATION)
        return true;
    for (size_t i = 0; i < m->function_count; i++)
        if (m->walk->frames[frame].function == m->functions[i])
            return true;
    return false;
}

static size_t calls_between(const struct merger *m, size_t inner, size_t outer)
{
    size_t calls = 0;
    for (size_t i = inner; i < outer; i++)
        calls += is_evaluation(m, i);
    return calls;
}

/* A frame that lies where no code is does not call: the stack ends before it, as that of a
 * coroutine that has a part of its own C stack. */
static bool is_gap(const struct merger *m, size_t frame)
{
    const struct native_frame *const native = &m->walk->frames[frame];
    return native->kind == NATIVE_GAP || (frame > 0 && !native->image);
}

static bool is_switcher(const struct merger *m, size_t frame)
{
    return frame < m->walk->count && !is_gap(m, frame) &&
           (m->roles[frame] == NATIVE_ROLE_SWITCHER || m->roles[frame] == NATIVE_ROLE_SWITCH);
}

/* The innermost frame of a library that switches C stacks, if no call of the evaluation function is inside of it;
 * otherwise UNKNOWN. */
static size_t find_switcher(const struct merger *m)
{
    for (size_t i = 0; i < m->walk->count && !is_gap(m, i) && !is_evaluation(m, i); i++)
        if (is_switcher(m, i))
            return i;
    return UNKNOWN;
}

/* Has every call of the evaluation function its run?  Outside the outermost run there may be others:
 * those of a coroutine library that switches C stacks.  The innermost call may have no frame yet, or no more, but it has
 * one while it calls such a library. */
static bool has_no_other_calls(const struct merger *m)
{
    const size_t most = find_switcher(m) == UNKNOWN;
    const size_t *const places = m->merge->places;
    size_t outer = UNKNOWN;
    for (size_t run = 0; run < m->runs.count; run++) {
        const size_t place = places[run];
        const bool is_known = place != OUTSIDE && m->walk->frames[place].kind != NATIVE_GAP;
        if (is_known && outer != UNKNOWN &&
            calls_between(m, place + 1, outer) > m->runs.items[run].empty)
            return false;
        outer = is_known ? place : UNKNOWN;
    }
    return outer == UNKNOWN || calls_between(m, 0, outer) <= most;
}

/* A stack that is not whole lacks an unknown number of calls: the innermost run stands below
 * the innermost call, and native frames outside of it are left out. */
static void place_innermost(struct merger *m)
{
    size_t frame = 0;
    for (size_t run = 0; run < m->runs.count; run++)
        m->merge->places[run] = OUTSIDE;
    while (frame < m->walk->count && !is_evaluation(m, frame) &&
           m->walk->frames[frame].kind != NATIVE_GAP)
        frame++;
    m->native_count = frame;
    if (frame == m->walk->count || m->walk->frames[frame].kind == NATIVE_GAP)
        return;
    m->merge->places[m->runs.count - 1] = frame;
    m->native_count++;
}

/* Pairs runs without entries with the calls of the evaluation function. */
static bool place_by_count(struct merger *m)
{
    const struct native_walk *const walk = m->walk;
    const size_t calls = calls_between(m, 0, walk->count);
    size_t run = 0;
    if (walk->end != NATIVE_COMPLETE || walk->gaps) {
        place_innermost(m);
        return true;
    }
    if (calls < m->runs.count || calls > m->runs.count + 1)
        return false;
    for (size_t i = walk->count; i-- > 0 && run < m->runs.count;)
        if (is_evaluation(m, i))
            m->merge->places[run++] = i;
    return true;
}

/* A trampoline calls the evaluation function of its Python frame, nothing else. */
static bool is_trampoline(const struct merger *m, size_t frame)
{
    return m->walk->frames[frame].left_by == NATIVE_LEFT_BY_TRAMPOLINE && frame > 0 &&
           is_evaluation(m, frame - 1);
}

static bool is_jit(const struct merger *m, size_t frame)
{
    return m->roles[frame] == NATIVE_ROLE_GENERATED || m->roles[frame] == NATIVE_ROLE_JIT_ENTRY;
}

/* Code of the JIT, and a tail-call interpreter's functions for instructions, execute the Python frame that the evaluation
 * function would: they are no frames.  The first is a mark. */
static bool stands_for_evaluation(const struct merger *m, size_t frame)
{
    const size_t first = frame;
    while (frame < m->walk->count && !is_gap(m, frame) &&
           (is_jit(m, frame) || m->roles[frame] == NATIVE_ROLE_INSTRUCTION))
        frame++;
    return frame > first && frame < m->walk->count && is_evaluation(m, frame);
}

/* Only the innermost call of the evaluation function executes the innermost Python frame. */
static enum three_valued find_jit(const struct merger *m)
{
    size_t frame = 0;
    while (frame < m->walk->count && !is_gap(m, frame) && !is_evaluation(m, frame))
        frame++;
    if (frame == m->walk->count || is_gap(m, frame))
        return VALUE_UNKNOWN;
    while (frame && m->roles[frame - 1] == NATIVE_ROLE_INSTRUCTION)
        frame--;
    return frame && is_jit(m, frame - 1) ? VALUE_YES : VALUE_NO;
}

static enum err_code emit_native(struct merger *m, size_t frame)
{
    if (is_gap(m, frame))
        return emit(m, MERGED_GAP, 0);
    return is_trampoline(m, frame) || stands_for_evaluation(m, frame)
               ? ERR_OK
               : emit(m, MERGED_NATIVE, frame);
}

/* The outermost frames of a walk that did not get there are missing. */
static enum err_code emit_natives(struct merger *m)
{
    enum err_code rc = m->walk->end == NATIVE_COMPLETE ? ERR_OK : emit(m, MERGED_GAP, 0);
    for (size_t i = m->walk->count; i-- > 0 && !rc;)
        rc = emit_native(m, i);
    return rc;
}

static enum err_code emit_merged(struct merger *m)
{
    const size_t *const places = m->merge->places;
    size_t run = 0;
    const bool is_whole = m->walk->end == NATIVE_COMPLETE && m->native_count == m->walk->count;
    enum err_code rc = is_whole ? ERR_OK : emit(m, MERGED_GAP, 0);
    /* The runs whose calls are not known.  Without entries, nobody knows whether C code is between them. */
    if (!rc) {
        for (; run < m->runs.count && places[run] == OUTSIDE && !rc; ++run) {
            const bool is_last = run + 1 == m->runs.count || places[run + 1] != OUTSIDE;
            rc = emit_run(m, run);
            if (!rc && (m->runs.has_entries || is_last))
                rc = emit(m, MERGED_GAP, 0);
        }
    }
    for (size_t i = m->native_count; i-- > 0 && !rc;) {
        rc = emit_native(m, i);
        for (; run < m->runs.count && places[run] == i && !rc; run++) {
            rc = emit_run(m, run);
            if (!rc && m->walk->frames[i].kind == NATIVE_GAP)
                rc = emit(m, MERGED_GAP, 0);
        }
    }
    return rc;
}

static size_t count_placed(const struct merger *m)
{
    const size_t *const places = m->merge->places;
    size_t placed = 0;
    for (size_t run = 0; run < m->runs.count; run++)
        placed += places[run] != OUTSIDE && m->walk->frames[places[run]].kind != NATIVE_GAP;
    return placed;
}

/* Entries are read together with the Python frames that they belong to: in their places, on a C stack that is whole,
 * they show that it is of the same coroutine.  Numbers of calls may be the same by chance. */
static bool is_switch(const struct merger *m, bool is_placed)
{
    const size_t switcher = m->runs.count ? find_switcher(m) : UNKNOWN;
    if (!is_placed)
        return switcher != UNKNOWN;
    if (m->runs.has_entries && count_placed(m) == m->runs.count &&
        m->walk->end == NATIVE_COMPLETE && !m->walk->gaps)
        return false;
    for (size_t i = switcher; is_switcher(m, i); i++)
        if (m->roles[i] == NATIVE_ROLE_SWITCH)
            return true;
    return false;
}

enum err_code native_merge(struct native_merge *merge, struct native_runs runs,
                           const struct native_walk *walk, const enum native_role *roles)
{
    struct merger m = {
        .merge = merge, .runs = runs, .walk = walk, .roles = roles, .native_count = walk->count
    };
    merge->count = 0;
    merge->is_mismatch = merge->is_switch = merge->has_gaps = false;
    if (!VEC_RESERVE(merge->places, merge->place_room, runs.count + 1))
        return ERR_NOMEM;
    const bool is_placed =
        !runs.count ||
        (walk->count && (runs.has_entries ? place_by_entries(&m) && has_no_other_calls(&m)
                                          : place_by_count(&m)));
    merge->placed = 0;
    merge->in_jit = is_placed && runs.count ? find_jit(&m) : VALUE_UNKNOWN;
    if (is_switch(&m, is_placed)) {
        enum err_code rc = ERR_OK;
        m.next_python = 0;
        m.merge->is_switch = true;
        for (size_t run = 0; run < m.runs.count && !rc; run++)
            rc = emit_run(&m, run);
        if (!rc)
            rc = emit(&m, MERGED_GAP, 0);
        for (size_t i = find_switcher(&m) + 1; i-- > 0 && !rc;)
            rc = emit_native(&m, i);
        return rc;
    }
    if (!is_placed) {
        enum err_code rc = ERR_OK;
        m.next_python = 0;
        m.merge->count = 0;
        m.merge->is_mismatch = true;
        for (size_t run = 0; run < m.runs.count && !rc; run++)
            rc = emit_run(&m, run);
        if (!rc)
            rc = emit(&m, MERGED_SEPARATE, 0);
        return rc ? rc : emit_natives(&m);
    }
    merge->placed = count_placed(&m);
    return emit_merged(&m);
}
