/*
 * frames - copies the frames of the current thread: the chunks of its data stack that are in use, and frames
 * that lie elsewhere.  A part of stacks.bpf.c.
 */
#ifndef SAMPLER_KERNEL_FRAMES_BPF_H
#define SAMPLER_KERNEL_FRAMES_BPF_H

#include "sampler/kernel/area.bpf.h"
#include "sampler/kernel/code.bpf.h"
#include "sampler/kernel/tail.bpf.h"

enum { GENERATOR_STACK = 512, TAG_MASK = 7 /* of pointers to objects */ };

/* The end of the newest chunk may be of a frame that is being made, in memory that was never
 * touched: no frame of the walk is in it yet. Returns how many bytes were copied. */
static __noinline __u64 put_touched(struct area *a, __u64 addr, __u64 bytes)
{
    if (!a)
        return 0;
    const __u32 flags = a->record.flags;
    if (put(a, addr, bytes, 1))
        return bytes;
    if (bytes > KERNEL_MAX_SPAN || (a->record.flags & KERNEL_NO_ROOM))
        return 0;
    const __u64 reached = reach_up(addr, addr + bytes);
    if (reached == addr || !put(a, addr, reached - addr, 1))
        return 0;
    a->record.flags = flags;
    return reached - addr;
}

__noinline int put_whole_chunk(struct area *a, __u64 addr, __u64 bytes)
{
    if (!a)
        return 0;
    bytes = put_touched(a, addr, bytes);
    if (!bytes)
        return 0;
    a->chunk = addr;
    a->chunk_bytes = bytes;
    a->chunk_at = a->last;
    a->chunk_below = bytes >= WORD ? word_at(a, a->last) : 0;
    return 1;
}

/* Copies of a chunk in which the tail begins only the bytes above that. */
static int put_chunk(struct area *a, __u64 addr, __u64 bytes)
{
    const __u64 from = a->tail.from;
    if (from <= addr || from - addr >= bytes)
        return put_whole_chunk(a, addr, bytes);
    if (!put_whole_chunk(a, from, bytes - (from - addr)))
        return 0;
    a->chunk_below = addr;
    a->rest_bytes = from - addr;
    return 1;
}

/* Here the tail begins.  The head of its first frame may reach above that: it is read there before anything else is
 * put. */
static int put_rest_of_chunk(struct area *a, __u64 addr)
{
    const __u64 bytes = a->rest_bytes;
    a->rest_bytes = 0;
    begin_tail(a);
    if (!put_whole_chunk(a, addr, bytes + a->process.frame_bytes))
        return 0;
    struct kernel_span *const span =
        (struct kernel_span *)(a->bytes + ((a->last - sizeof *span) & (KERNEL_AREA_BYTES - 1)));
    span->bytes = a->chunk_bytes = bytes;
    span->is_padded = 0;
    a->record.bytes = a->last + bytes;
    return 1;
}

/* The chunk below: its header says how much of it is used. */
static __noinline int put_chunk_below(struct area *a)
{
    __u64 header[3] = { 0 };
    if (!a || !a->chunk_below)
        return 0;
    const __u64 addr = a->chunk_below;
    if (a->rest_bytes)
        return put_rest_of_chunk(a, addr);
    if (bpf_probe_read_user(header, sizeof header, (void *)addr)) {
        a->record.flags |= KERNEL_FAULTED;
        return 0;
    }
    __u64 bytes = sizeof header + header[2] * WORD;
    return put_chunk(a, addr, bytes > header[1] ? header[1] : bytes);
}

static int is_in_chunk(const struct area *a)
{
    return a->frame >= a->chunk && a->frame - a->chunk < a->chunk_bytes;
}

/* One step outwards.  Frames in chunks have been copied with them; others are copied one by one. */
static long step(__u32 i, void *context)
{
    struct area *const a = ((struct walk *)context)->area;
    __u64 at;
    if (!a->frame)
        return 1;
    if (is_in_chunk(a)) {
        at = a->chunk_at + (a->frame - a->chunk);
        a->calls += a->process.frame_is_entry &&
                    *(a->bytes + ((at + a->process.frame_is_entry) & (KERNEL_AREA_BYTES - 1)));
    } else if (a->process.frames != KERNEL_HEAP_FRAMES && a->chunk_below &&
               a->frame > a->chunk_below &&
               a->frame - a->chunk_below < (a->rest_bytes ? a->rest_bytes : KERNEL_MAX_SPAN)) {
        /* Perhaps in the chunk below; otherwise the next step finds it in neither. */
        if (put_chunk_below(a))
            return 0;
        return 1;
    } else {
        /* The value stack of a generator that runs lies behind its frame. */
        const __u64 flags = a->record.flags;
        if (i || !put(a, a->frame, a->process.frame_bytes + GENERATOR_STACK, 0)) {
            a->record.flags = flags;
            if (!put(a, a->frame, a->process.frame_bytes, 0))
                return 1;
        }
        at = a->last;
        a->calls++;
    }
    if (!a->innermost_at)
        a->innermost_at = at;
    const __u64 caller = word_at(a, at + a->process.frame_previous);
    /* No frame, but an object: what lies there is its type, and the type of types is itself. */
    if (caller == a->frame) {
        a->record.flags |= KERNEL_FAULTED;
        return 1;
    }
    const __u64 code = word_at(a, at + a->process.code.of_frame) & ~(__u64)TAG_MASK;
    if (!is_recent(a, code, i))
        meet(a, code, i);
    if (a->tail_at)
        add_to_tail(a, at, caller);
    a->frame = caller;
    return 0;
}

static long put_rest(__u32 i, void *context)
{
    return !put_chunk_below(((struct walk *)context)->area);
}

static int put_frames(struct area *a, const struct kernel_thread *thread, __u64 tstate_at)
{
    const struct kernel_process *const process = &a->process;
    struct walk walk = { a };
    __u64 before = 0, around = 0;
    a->chunk = a->chunk_bytes = a->chunk_below = a->rest_bytes = a->calls = 0;
    a->tail.from = a->tail_at = 0;
    a->frame = word_at(a, tstate_at + process->tstate_frame);
    if (process->frames == KERNEL_CFRAMES) {
        const __u64 cframe = word_at(a, tstate_at + process->tstate_cframe);
        if (!put(a, cframe, process->cframe_bytes, 0))
            return 0;
        a->frame = word_at(a, a->last + process->cframe_frame);
        before = word_at(a, a->last + process->cframe_previous);
    }
    if (process->frames != KERNEL_HEAP_FRAMES) {
        const __u64 newest = word_at(a, tstate_at + process->tstate_chunk);
        const __u64 top = word_at(a, tstate_at + process->tstate_top);
        place_tail(a, thread, newest, top);
        if (newest && !put_chunk(a, newest, top - newest))
            return 0;
    }
    /* A loop that has just been entered names no frame yet, or what its place on the C stack held before: the
     * loop around it does. */
    if (before && !is_in_chunk(a) && put(a, before, process->cframe_bytes, 0))
        around = word_at(a, a->last + process->cframe_frame);
    if (!a->frame)
        a->frame = around;
    bpf_loop(KERNEL_MAX_FRAMES, step, &walk, 0);
    if (around && (a->record.flags & KERNEL_FAULTED)) {
        a->record.flags &= ~(__u32)KERNEL_FAULTED;
        a->frame = around;
        bpf_loop(KERNEL_MAX_FRAMES, step, &walk, 0);
    }
    if (a->frame && !(a->record.flags & KERNEL_FAULTED))
        a->record.flags |= KERNEL_NO_ROOM;
    /* Chunks that hold no frame of the walk still belong to the list. */
    if (process->frames != KERNEL_HEAP_FRAMES)
        bpf_loop(KERNEL_MAX_CHUNKS, put_rest, &walk, 0);
    return 1;
}

#endif /* SAMPLER_KERNEL_FRAMES_BPF_H */
