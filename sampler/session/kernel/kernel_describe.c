#include "sampler/session/kernel/kernel_describe.h"

#include <string.h>

#include "sampler/cpython/contexts/contexts.h"
#include "sampler/cpython/objects/object.h"
#include "sampler/cpython/python_copies.h"
#include "sampler/kernel/record.h"
#include "sampler/process/thread_locals.h"
#include "sampler/session/target.h"

_Static_assert((int)KERNEL_MAX_VARIABLES == (int)CONTEXTS_MAX_VARIABLES, "");
_Static_assert((int)KERNEL_MAX_PUBLISHED == (int)THREAD_LOCALS_MAX, "");

static void describe_published(const struct target *target, struct kernel_context *out)
{
    struct thread_local_trail trails[KERNEL_MAX_PUBLISHED];
    out->published_count = python_span_trails(target->python, trails);
    for (size_t i = 0; i < out->published_count; i++) {
        const struct thread_local_trail *const trail = &trails[i];
        out->published[i] = (struct kernel_published){
            .slot = trail->slot,
            .place = (uint64_t)trail->place,
            .of_tid = trail->of_tid,
            .of_generation = trail->is_fixed ? 0 : trail->of_generation,
            .of_block = trail->is_fixed ? 0 : trail->of_block,
            .offset = trail->offset,
        };
    }
}

void kernel_describe_context(const struct target *target, struct kernel_context *out)
{
    const struct layout *const layout = &python_runtime(target->python)->layout;
    struct contexts_trail trail;
    /* All bytes of equal trails are equal. */
    memset(out, 0, sizeof *out);
    describe_published(target, out);
    if (!python_context_trail(target->python, &trail) || !trail.place)
        return;
    out->place = trail.place;
    out->object_type = layout->object_type;
    out->variable_bytes = trail.variable_bytes;
    out->type_name = layout->type_name;
    out->type_flags = object_type_flags_offset(layout);
    out->text_bytes = layout->unicode_compact_bytes;
    if (trail.is_span)
        out->spans = (struct kernel_span_layout){
            .is_wanted = true,
            .length = layout->unicode_length,
            .ascii_bytes = layout->unicode_ascii_bytes,
            .dict_keys = layout->dict_keys,
            .dict_values = layout->dict_values,
            .values_bytes = layout->values_bytes,
            .type_dict = object_type_dictoffset(layout),
            .type_size = layout->type_basicsize,
            .type_keys = layout->heap_type_cached_keys,
            .words_before = object_dict_words_before(layout),
            .ids = object_tuple_items(layout),
            .has_plain_keys = layout->has_plain_keys,
            .has_managed_dicts = layout->has_managed_dicts,
            .has_values_pointer = layout->has_values_pointer,
            .has_tagged_values = layout->has_tagged_values,
            .has_inline_values = layout->has_inline_values,
        };
    out->bitmap = trail.bitmap;
    out->array = trail.array;
    out->collision = trail.collision;
    out->variable_count = (unsigned)trail.variable_count;
    for (size_t i = 0; i < trail.variable_count; i++) {
        out->variables[i].addr = trail.variables[i].addr;
        out->variables[i].hash = trail.variables[i].hash;
    }
}

void kernel_describe_process(const struct target *target, struct kernel_process *out)
{
    const struct layout *const layout = &python_runtime(target->python)->layout;
    *out = (struct kernel_process){
        .frames = layout->has_heap_frames ? KERNEL_HEAP_FRAMES
                  : layout->tstate_cframe ? KERNEL_CFRAMES
                                          : KERNEL_CHUNKS,
        .tstate_frame = layout->tstate_current_frame,
        .tstate_cframe = layout->tstate_cframe,
        .tstate_chunk = layout->tstate_datastack_chunk,
        .tstate_top = layout->tstate_datastack_top,
        .cframe_bytes = layout->cframe_bytes,
        .cframe_frame = layout->cframe_current_frame,
        .cframe_previous = layout->cframe_previous,
        .frame_bytes = layout->frame_bytes,
        .frame_previous = layout->frame_previous,
        .frame_instr = layout->has_heap_frames ? 0 : layout->frame_instr,
        .frame_is_entry = layout->frame_is_entry,
        .only_tid = target->options->all_threads ? 0 : (uint32_t)target->process.pid,
        .wants_native = target->fold.native_stacks != NULL,
        .wants_kernel = target->options->kernel_frames,
        .code =
            (struct kernel_code_layout){
                .of_frame = layout->frame_executable,
                .bytes = layout->code_bytes,
                .fingerprint = layout->code_firstlineno,
                .fingerprint_bytes = (unsigned)code_fingerprint_bytes(layout),
                .name = layout->code_qualname,
                .file = layout->code_filename,
                .line_table = layout->code_linetable,
                .instructions = layout->code_code,
                .name_hash = code_has_name_fingerprint(layout) ? layout->unicode_length : 0,
                .length = layout->bytes_length,
                .data = layout->bytes_data,
            },
    };
    const struct thread_windows windows = python_windows(target->python, NULL);
    remote_addr interpreters[KERNEL_MAX_INTERPRETERS];
    kernel_describe_context(target, &out->context);
    out->tstate_tid = layout->tstate_native_thread_id;
    out->tstate_pthread = layout->tstate_thread_id;
    out->tstate_next = layout->tstate_next;
    out->tstate_base = layout->tstate_base_frame;
    out->frame_owner = layout->frame_owner;
    out->entry_owner = COPY_OWNER_INTERPRETER;
    out->interp_threads = layout->interp_threads_head;
    out->interp_window = python_window_offset(target->python);
    out->interp_generation = layout->interp_code_generation;
    out->interpreter_count = (unsigned)python_searched_interpreters(
        target->python, interpreters, KERNEL_MAX_INTERPRETERS);
    out->lends_states = python_lends_states(target->python);
    for (size_t i = 0; i < out->interpreter_count; i++)
        out->interpreters[i] = interpreters[i];
    out->tstate_bytes = windows.tstate_bytes;
    out->runtime_window = windows.runtime;
    out->runtime_window_bytes = windows.runtime_bytes;
}

void kernel_describe_thread(const struct target *target, const struct thread *thread,
                            struct kernel_thread *out)
{
    const struct thread_windows windows = python_windows(target->python, thread);
    *out = (struct kernel_thread){ .tstate = thread->head.addr,
                                   .window = windows.interpreter,
                                   .window_bytes = windows.interpreter_bytes,
                                   .main_window = windows.main_interpreter,
                                   .interpreter = thread->head.interp,
                                   .pthread = thread->head.ident,
                                   .native_tid = (uint32_t)thread->head.tid,
                                   .is_inner = thread->interp_id != 0,
                                   .generation = thread->stack.copy.generation_addr,
                                   .pid = (uint32_t)target->process.pid };
}
