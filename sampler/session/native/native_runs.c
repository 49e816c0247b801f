#include "sampler/session/native/native_runs.h"

#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"
#include "sampler/cpython/objects/object.h"

struct cframe {
    remote_addr addr, frame, previous;
};

void native_runs_deinit(struct native_run_list *list)
{
    free(list->items);
    free(list->entries);
    memset(list, 0, sizeof *list);
}

static enum err_code add_run(struct native_run_list *list, const struct native_run *run)
{
    if (!VEC_RESERVE(list->items, list->room, list->count + 1))
        return ERR_NOMEM;
    list->items[list->count++] = *run;
    return ERR_OK;
}

static enum err_code add_entry(struct native_run_list *list, remote_addr entry)
{
    if (!VEC_RESERVE(list->entries, list->entry_room, list->entry_count + 1))
        return ERR_NOMEM;
    list->entries[list->entry_count++] = entry;
    return ERR_OK;
}

/* Divides the frames into runs.  Without entries, each frame is one. */
static enum err_code divide(struct native_run_list *list, const struct stack *stack)
{
    enum err_code rc = ERR_OK;
    for (size_t i = 0; i < stack->count && !rc; i++) {
        const struct walk_frame *const frame = &stack->frames[i];
        if (i && list->has_entries && !frame->entry && !frame->entered_from_c)
            list->items[list->count - 1].count++;
        else
            rc = add_run(list, &(struct native_run){ .entry = frame->entry,
                                                     .count = 1,
                                                     .empty = frame->empty_entries });
    }
    return rc;
}

static bool read_word(const struct native_stack *c_stack, remote_addr addr, uint64_t *out)
{
    for (size_t i = 0; i < c_stack->span_count; i++) {
        const struct native_span *const span = &c_stack->spans[i];
        if (addr < span->addr || addr - span->addr >= span->count ||
            span->count - (addr - span->addr) < sizeof *out)
            continue;
        memcpy(out, span->bytes + (addr - span->addr), sizeof *out);
        return true;
    }
    return false;
}

/* The outermost cframe is in the thread state, so not in the copy. */
static bool read_cframe(const struct stack *stack, const struct native_stack *c_stack,
                        remote_addr addr, struct cframe *out)
{
    const struct layout *const layout = stack->copy.layout;
    out->addr = addr;
    return addr < UINT64_MAX - LAYOUT_MAX_CFRAME_BYTES &&
           read_word(c_stack, addr + layout->cframe_current_frame, &out->frame) &&
           read_word(c_stack, addr + layout->cframe_previous, &out->previous);
}

/* The cframes in the copy, innermost first. */
static enum err_code read_cframes(struct native_run_list *list, const struct stack *stack,
                                  const struct native_stack *c_stack)
{
    remote_addr addr = field_u64(stack->copy.tstate, stack->copy.layout->tstate_cframe);
    enum err_code rc = ERR_OK;
    struct cframe cframe = { 0 };
    for (size_t i = 0; i < NATIVE_RUNS_MAX_CFRAMES && addr > cframe.addr && !rc; i++) {
        if (!read_cframe(stack, c_stack, addr, &cframe))
            break;
        rc = add_entry(list, addr);
        addr = cframe.previous;
    }
    return rc;
}

/* Does the cframe name the frame before `end` as the innermost one of its run? */
static bool names_frame(const struct stack *stack, const struct native_stack *c_stack,
                        remote_addr addr, size_t end)
{
    struct cframe cframe;
    return end && read_cframe(stack, c_stack, addr, &cframe) &&
           cframe.frame == stack->frames[end - 1].addr;
}

enum err_code native_runs_find(struct native_run_list *list, const struct stack *stack,
                               const struct native_stack *c_stack)
{
    const struct layout *const layout = stack->copy.layout;
    list->count = list->entry_count = 0;
    list->has_entries = !layout->has_heap_frames;
    if (layout->has_heap_frames)
        return divide(list, stack);

    if (!layout->has_entry_frames) {
        /* Gives each run its cframe.  The innermost cframe may have no run yet, or name a frame that has not begun;
         * the others tell.  Runs whose cframes are not in the copy lie further out than all that is. */
        enum err_code rc = divide(list, stack);
        if (!rc)
            rc = read_cframes(list, stack, c_stack);
        size_t run = list->count, end = stack->count, at = 0;
        for (size_t i = 0; i < list->count; i++)
            list->items[i].entry = UINT64_MAX - i;
        if (rc || !list->count || !list->entry_count)
            return rc;
        if (list->entry_count > 1 && names_frame(stack, c_stack, list->entries[1], end))
            at = 1;
        for (size_t first = at; run && at < list->entry_count; at++) {
            /* The frames and the cframes do not belong together. */
            if ((at > first || first) && !names_frame(stack, c_stack, list->entries[at], end)) {
                list->items[0].entry = 0;
                return ERR_OK;
            }
            list->items[--run].entry = list->entries[at];
            end -= list->items[run].count;
        }
        return ERR_OK;
    }

    const struct native_run empty = { .entry = stack->walk.empty_entry };
    enum err_code rc = divide(list, stack);
    if (!rc && empty.entry)
        rc = add_run(list, &empty);
    for (size_t i = list->count; i-- > 0 && !rc;)
        if (list->items[i].entry)
            rc = add_entry(list, list->items[i].entry);
    return rc;
}
