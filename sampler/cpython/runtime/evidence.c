#include "sampler/cpython/runtime/evidence.h"

#include "sampler/cpython/objects/object.h"

/* Objects are aligned to 16 bytes; a stack reference has its tag in the low bits. */
static const uint64_t TAG_MASK = 7;

enum { MAX_SCANS = 4 };

struct witness {
    struct memory *memory;
    const struct layout *layout;
    remote_addr code_type; /* 0: not found yet */
};

/* 0: the word is 0, or cannot be read. */
static remote_addr read_at(const struct witness *w, remote_addr structure, uint32_t offset)
{
    uint64_t value;
    return structure && !memory_read_u64(w->memory, structure + offset, &value) ? value : 0;
}

static bool is_code(struct witness *w, remote_addr object)
{
    const remote_addr type = read_at(w, object, w->layout->object_type);
    if (type == 0)
        return false;
    if (!w->code_type && object_type_is(w->memory, w->layout, type, "code"))
        w->code_type = type;
    return type == w->code_type;
}

static remote_addr innermost_frame(const struct witness *w, remote_addr tstate)
{
    const struct layout *const layout = w->layout;
    if (layout->tstate_current_frame)
        return read_at(w, tstate, layout->tstate_current_frame);
    return read_at(w, read_at(w, tstate, layout->tstate_cframe), layout->cframe_current_frame);
}

static unsigned count_all_frames(struct witness *w, remote_addr interp)
{
    unsigned count = 0;
    for (int i = 0; interp && !count && i < EVIDENCE_MAX_INTERPRETERS; i++) {
        remote_addr tstate = read_at(w, interp, w->layout->interp_threads_head);
        for (int j = 0; tstate && j < EVIDENCE_MAX_THREADS; j++) {
            /* Entry frames have no code object, so not every frame counts. */
            remote_addr frame = innermost_frame(w, tstate);
            for (int k = 0; frame && k < EVIDENCE_MAX_FRAMES; k++) {
                count += is_code(w, read_at(w, frame, w->layout->frame_executable) & ~TAG_MASK);
                frame = read_at(w, frame, w->layout->frame_previous);
            }
            tstate = read_at(w, tstate, w->layout->tstate_next);
        }
        interp = read_at(w, interp, w->layout->interp_next);
    }
    return count;
}

static bool has_modules(const struct witness *w, remote_addr interp)
{
    bool has = false;
    for (int i = 0; interp && !has && i < EVIDENCE_MAX_INTERPRETERS; i++) {
        const remote_addr modules = read_at(w, interp, w->layout->interp_imports_modules);
        const remote_addr type = read_at(w, modules, w->layout->object_type);
        has = type && object_type_is(w->memory, w->layout, type, "dict");
        interp = read_at(w, interp, w->layout->interp_next);
    }
    return has;
}

struct evidence evidence_gather(struct memory *memory, const struct layout *layout,
                                remote_addr interp)
{
    struct witness w = { memory, layout, 0 };
    struct evidence evidence = { .has_modules = has_modules(&w, interp) };
    for (int i = 0; i < MAX_SCANS && !evidence.frames; i++)
        evidence.frames = count_all_frames(&w, interp);
    return evidence;
}
