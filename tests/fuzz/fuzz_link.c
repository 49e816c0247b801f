/* Input: a byte that chooses the decoder, and what it reads: a request, an answer, a list of processes, the state of a
 * session, or a live capture.  A live capture is blocks: kind u8, size u16 and that many bytes; the target adds
 * heads and checksums, and a valid first block. */
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/byte_reader.h"
#include "sampler/base/frame_variables.h"
#include "sampler/capture/block.h"
#include "sampler/capture/format.h"
#include "sampler/capture/growing.h"
#include "sampler/capture/writer.h"
#include "sampler/link/request.h"
#include "sampler/link/state.h"
#include "sampler/profile/profile.h"
#include "tests/fuzz/fuzz.h"

enum { TABLE_BYTES = 16 << 20 };

static void read_request(struct byte_reader *in)
{
    struct link_request request;
    struct buffer again = { 0 };
    const size_t bytes = byte_reader_left(in);
    if (link_request_decode(byte_reader_take(in, bytes), bytes, &request, NULL) != ERR_OK)
        return;
    fuzz_check(request.options.pid_count <= SESSION_MAX_PROCESSES);
    fuzz_check(request.source_bytes <= LINK_MAX_REQUEST_BYTES);
    link_request_encode(&request, &again);
    buffer_deinit(&again);
}

static void read_answer(struct byte_reader *in)
{
    struct link_head head;
    struct buffer contents = { 0 };
    struct err err = { 0 };
    if (!link_take_struct(in, &head, sizeof head) || link_head_check(&head, NULL) != ERR_OK)
        return;
    const size_t bytes = byte_reader_left(in);
    buffer_append(&contents, byte_reader_take(in, bytes), bytes);
    link_fail((enum err_code)head.code, &contents, &err);
    fuzz_check(strlen(err.message) < sizeof err.message);
    buffer_deinit(&contents);
}

static void visit(void *context, const struct process_info *info)
{
    size_t *const bytes = context;
    for (size_t i = 0; i < info->argc; i++)
        *bytes += strlen(info->argv[i]);
}

static void read_list(struct byte_reader *in)
{
    struct processes_summary summary;
    struct buffer contents = { 0 };
    size_t words = 0;
    const size_t bytes = byte_reader_left(in);
    buffer_append(&contents, byte_reader_take(in, bytes), bytes);
    (void)!link_list_decode(&contents, visit, &words, &summary, NULL);
    buffer_deinit(&contents);
}

static void read_state(struct byte_reader *in)
{
    const struct profile_sizes rows = { .strings = 10, .functions = 10, .nodes = 10 };
    struct state state;
    if (state_decode(in, &rows, &state, NULL) != ERR_OK)
        return;
    for (size_t i = 0; i < state.target_count; i++) {
        struct target_record record;
        if (target_record_decode(state.targets[i].record, NULL, &record, NULL) != ERR_OK)
            continue;
        for (size_t k = 0; k < record.target.argc; k++)
            fuzz_check(strlen(record.target.argv[k]) < SIZE_MAX);
        target_record_deinit(&record);
    }
    for (size_t i = 0; i < state.origin_count; i++)
        fuzz_check(state.origins[i].function < rows.functions);
    for (size_t i = 0; i < state.tasks.count; i++)
        fuzz_check(state.tasks.items[i].node < rows.nodes &&
                   state.tasks.items[i].first_awaiter + state.tasks.items[i].awaiter_count <=
                       state.tasks.awaiter_count);
    for (size_t i = 0; i < state.locks.thread_count; i++)
        fuzz_check(state.locks.threads[i].first_use + state.locks.threads[i].use_count <=
                   state.locks.use_count);
    for (size_t i = 0; i < state.locks.use_count; i++)
        fuzz_check(state.locks.uses[i].type < rows.strings &&
                   state.locks.uses[i].function < rows.strings &&
                   state.locks.uses[i].file < rows.strings && state.locks.uses[i].line >= 0);
    for (size_t i = 0; i < state.locks.count; i++) {
        const struct session_lock *const lock = &state.locks.items[i];
        fuzz_check(lock->waiter_count <= SESSION_LOCK_LINES &&
                   lock->holder_count <= SESSION_LOCK_LINES && lock->type < rows.strings);
        for (uint32_t k = 0; k < lock->waiter_count; k++)
            fuzz_check(lock->waiters[k].function < rows.strings &&
                       lock->waiters[k].file < rows.strings);
        for (uint32_t k = 0; k < lock->holder_count; k++)
            fuzz_check(lock->holders[k].function < rows.strings &&
                       lock->holders[k].file < rows.strings);
    }
    for (size_t i = 0; i < state.locals.count; i++) {
        const struct session_locals_thread *const thread = &state.locals.threads[i];
        struct byte_reader frames =
            byte_reader_of(state.locals.frames + thread->from, thread->bytes);
        struct variable_frame frame;
        struct variable variable;
        uint64_t left_out;
        fuzz_check(thread->from + thread->bytes <= state.locals.frame_bytes);
        while (frame_variables_next_frame(&frames, &frame))
            while (frame_variables_next(&frames, &variable, &left_out))
                fuzz_check(variable.name && variable.type && variable.kind <= VARIABLE_FREE);
    }
    state_deinit(&state);
}

static enum err_code take(void *to, const void *data, size_t bytes, struct err *err)
{
    buffer_append(to, data, bytes);
    return buffer_check(to, err);
}

static enum err_code fill(void *context, void *out, size_t bytes, struct err *err)
{
    struct byte_reader *const from = context;
    const unsigned char *const at = byte_reader_take(from, bytes);
    if (!at)
        return err_set(err, ERR_NOT_FOUND, "the end");
    if (bytes)
        memcpy(out, at, bytes);
    return ERR_OK;
}

static void put_capture(struct buffer *out, struct byte_reader *input)
{
    const struct capture_metadata facts = { .unit_ns = 1000 };
    struct writer writer;
    fuzz_check(writer_init_live(&writer, &facts, take, out, NULL) == ERR_OK);
    writer_deinit(&writer);
    while (byte_reader_left(input) >= 3) {
        struct buffer raw = { 0 };
        const unsigned kind = byte_reader_u8(input), low = byte_reader_u8(input);
        const size_t wanted = low | byte_reader_u8(input) << 8, left = byte_reader_left(input);
        const size_t bytes = wanted < left ? wanted : left;
        buffer_append(&raw, byte_reader_take(input, bytes), bytes);
        fuzz_check(block_encode_plain((enum capture_kind)kind, &raw, out, NULL) == ERR_OK);
        buffer_deinit(&raw);
    }
}

static void grow(struct byte_reader *input)
{
    struct buffer capture = { 0 };
    struct growing growing;
    struct profile *profile = NULL;
    enum capture_kind kind;
    const struct quality quality = { 0 };
    put_capture(&capture, input);
    struct byte_reader from = byte_reader_over(&capture);
    fuzz_check(profile_create(&profile, NULL) == ERR_OK);
    growing_init(&growing, profile, TABLE_BYTES);
    while (growing_read(&growing, fill, &from, &kind, NULL) == ERR_OK)
        if (kind == CAPTURE_STATE &&
            growing_seal(&growing, &quality, growing.last_ns[MEASURE_TIME] + 1, NULL, NULL,
                         NULL) != ERR_OK)
            break;
    growing_deinit(&growing);
    profile_destroy(profile);
    buffer_deinit(&capture);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const decoders[])(struct byte_reader * in) = { read_request, read_answer,
                                                                 read_list, read_state, grow };
    if (size == 0)
        return 0;
    struct byte_reader in = byte_reader_of(data + 1, size - 1);
    decoders[data[0] % (sizeof decoders / sizeof *decoders)](&in);
    return 0;
}
