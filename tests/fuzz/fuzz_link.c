/* Input: a byte that chooses the decoder, and what it reads: a request, an answer, a list of processes, the state of a
 * session, or a live capture.  A live capture is blocks: kind u8, size u16 and that many bytes; the target adds
 * heads and checksums, and a valid first block. */
#include <string.h>

#include "sampler/capture/block.h"
#include "sampler/capture/bytes.h"
#include "sampler/capture/format.h"
#include "sampler/capture/growing.h"
#include "sampler/capture/writer.h"
#include "sampler/link/request.h"
#include "sampler/link/state.h"
#include "sampler/profile/profile.h"
#include "tests/fuzz/fuzz.h"

enum { TABLE_BYTES = 16 << 20 };

static void read_request(struct cursor *cursor)
{
    struct link_request request;
    struct bytes again = { 0 };
    if (link_request_decode(cursor, &request, NULL) != ERR_OK)
        return;
    fuzz_check(request.options.pid_count <= SAMPLER_MAX_PROCESSES);
    fuzz_check(request.source_bytes <= LINK_MAX_REQUEST_BYTES);
    link_request_encode(&request, &again);
    bytes_deinit(&again);
}

static void read_answer(struct cursor *cursor)
{
    enum err_code code;
    size_t bytes;
    struct err err = { 0 };
    struct link_started started;
    struct process_usage usage;
    const unsigned char *const head = cursor_take(cursor, LINK_HEAD_BYTES);
    if (!head || link_head_decode(head, &code, &bytes, NULL) != ERR_OK)
        return;
    fuzz_check(bytes <= LINK_MAX_ANSWER_BYTES);
    struct cursor copy = *cursor;
    link_err_decode(&copy, code, &err);
    copy = *cursor;
    (void)!link_started_decode(&copy, &started, NULL);
    copy = *cursor;
    (void)!link_usage_decode(&copy, &usage, NULL);
}

static void visit(void *context, const struct process_info *info)
{
    size_t *const bytes = context;
    for (size_t i = 0; i < info->argc; i++)
        *bytes += strlen(info->argv[i]);
}

static void read_list(struct cursor *cursor)
{
    struct processes_summary summary;
    size_t bytes = 0;
    (void)!link_list_decode(cursor, visit, &bytes, &summary, NULL);
}

static void read_state(struct cursor *cursor)
{
    const struct profile_sizes rows = { .strings = 10, .functions = 10, .nodes = 10 };
    struct state state;
    if (state_decode(cursor, &rows, &state, NULL) != ERR_OK)
        return;
    for (size_t i = 0; i < state.target_count; i++)
        for (size_t k = 0; k < state.targets[i].argc; k++)
            fuzz_check(strlen(state.targets[i].argv[k]) < SIZE_MAX);
    for (size_t i = 0; i < state.origin_count; i++)
        fuzz_check(state.origins[i].function < rows.functions);
    for (size_t i = 0; i < state.tasks.count; i++)
        fuzz_check(state.tasks.items[i].node < rows.nodes &&
                   state.tasks.items[i].first_awaiter + state.tasks.items[i].awaiter_count <=
                       state.tasks.awaiter_count);
    state_deinit(&state);
}

static enum err_code take(void *to, const void *data, size_t bytes, struct err *err)
{
    bytes_put(to, data, bytes);
    return bytes_check(to, err);
}

static enum err_code fill(void *context, void *out, size_t bytes, struct err *err)
{
    struct cursor *const from = context;
    const unsigned char *const at = cursor_take(from, bytes);
    if (!at)
        return err_set(err, ERR_NOT_FOUND, "the end");
    if (bytes)
        memcpy(out, at, bytes);
    return ERR_OK;
}

static void put_capture(struct bytes *out, struct cursor *input)
{
    const struct capture_metadata facts = { .unit_ns = 1000 };
    struct writer writer;
    fuzz_check(writer_init_live(&writer, &facts, take, out, NULL) == ERR_OK);
    writer_deinit(&writer);
    while (cursor_left(input) >= 3) {
        struct bytes raw = { 0 };
        const unsigned kind = cursor_u8(input), low = cursor_u8(input);
        const size_t wanted = low | cursor_u8(input) << 8, left = cursor_left(input);
        const size_t bytes = wanted < left ? wanted : left;
        bytes_put(&raw, cursor_take(input, bytes), bytes);
        fuzz_check(block_encode_plain((enum capture_kind)kind, &raw, out, NULL) == ERR_OK);
        bytes_deinit(&raw);
    }
}

static void grow(struct cursor *input)
{
    struct bytes capture = { 0 };
    struct growing growing;
    struct profile *profile = NULL;
    enum capture_kind kind;
    const struct quality quality = { 0 };
    put_capture(&capture, input);
    struct cursor from = cursor_of(capture.data, capture.count);
    fuzz_check(profile_create(&profile, NULL) == ERR_OK);
    growing_init(&growing, profile, TABLE_BYTES);
    while (growing_read(&growing, fill, &from, &kind, NULL) == ERR_OK)
        if (kind == CAPTURE_STATE &&
            growing_seal(&growing, &quality, growing.last_ns + 1, NULL, NULL, NULL) != ERR_OK)
            break;
    growing_deinit(&growing);
    profile_destroy(profile);
    bytes_deinit(&capture);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const decoders[])(struct cursor * cursor) = { read_request, read_answer,
                                                                read_list, read_state, grow };
    if (size == 0)
        return 0;
    struct cursor cursor = cursor_of(data + 1, size - 1);
    decoders[data[0] % (sizeof decoders / sizeof *decoders)](&cursor);
    return 0;
}
