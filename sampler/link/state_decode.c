#include <stdlib.h>
#include <string.h>

#include "sampler/base/byte_reader.h"
#include "sampler/base/vec.h"
#include "sampler/capture/windows.h"
#include "sampler/link/request.h"
#include "sampler/link/state.h"
#include "sampler/profile/profile.h"

enum { TARGET_BYTES = 3, ORIGIN_BYTES = 10, TASK_BYTES = 9 };

/* The bool is the reader's own. */
static bool take_status(struct byte_reader *in, struct sampler_status *out)
{
    if (!link_take_struct(in, out, sizeof *out))
        return false;
    out->records_native = false;
    out->rate_hz = link_finite(out->rate_hz);
    out->requested_hz = link_finite(out->requested_hz);
    return out->state <= SAMPLER_FAILED && memchr(out->reason, '\0', sizeof out->reason) &&
           memchr(out->engine_reason, '\0', sizeof out->engine_reason);
}

static bool take_quality(struct byte_reader *in, struct quality *out)
{
    bool is_valid = link_take_struct(in, out, sizeof *out);
    for (size_t i = 0; is_valid && i < QUALITY_BIASED; i++)
        is_valid = out->biased[i].ppm >= -1000000 && out->biased[i].ppm <= 1000000;
    return is_valid;
}

static enum err_code take_targets(struct byte_reader *in, struct state *out, struct err *err)
{
    out->target_count = byte_reader_count(in, TARGET_BYTES, SAMPLER_MAX_LISTED);
    out->targets = calloc(out->target_count + 1, sizeof *out->targets);
    if (!out->targets)
        return err_nomem(err);
    for (size_t i = 0; i < out->target_count; i++) {
        out->targets[i].index = (size_t)byte_reader_below(in, SAMPLER_MAX_LISTED - 1);
        out->targets[i].record = byte_reader_text(in);
    }
    return ERR_OK;
}

static enum err_code take_origins(struct byte_reader *in, uint32_t functions, struct state *out,
                                  struct err *err)
{
    out->origin_count = byte_reader_count(in, ORIGIN_BYTES, STATE_MAX_ORIGINS);
    out->origins = calloc(out->origin_count + 1, sizeof *out->origins);
    if (!out->origins)
        return err_nomem(err);
    for (size_t i = 0; i < out->origin_count; i++) {
        struct state_origin *const row = &out->origins[i];
        row->function = (uint32_t)byte_reader_below(in, UINT32_MAX);
        row->origin = byte_reader_u64(in);
        row->entry = byte_reader_number(in);
        in->is_bad |= row->function >= functions;
    }
    return ERR_OK;
}

static enum err_code take_awaiters(struct byte_reader *in, struct sampler_task *row,
                                   size_t *room, struct sampler_tasks *out, struct err *err)
{
    row->first_awaiter = (uint32_t)out->awaiter_count;
    row->awaiter_count =
        (uint32_t)byte_reader_count(in, 1, STATE_MAX_AWAITERS - out->awaiter_count);
    if (!VEC_RESERVE(out->awaiters, *room, out->awaiter_count + row->awaiter_count + 1))
        return err_nomem(err);
    for (uint32_t k = 0; k < row->awaiter_count; k++) {
        const uint32_t awaiter = (uint32_t)byte_reader_below(in, UINT32_MAX);
        in->is_bad |= awaiter >= out->count;
        out->awaiters[out->awaiter_count++] = awaiter;
    }
    return ERR_OK;
}

static enum err_code take_tasks(struct byte_reader *in, const struct profile_sizes *rows,
                                struct sampler_tasks *out, struct err *err)
{
    size_t room = 0;
    enum err_code rc = ERR_OK;
    out->at_ns = byte_reader_number(in);
    out->is_cut = byte_reader_u8(in) != 0;
    out->count = byte_reader_count(in, TASK_BYTES, SAMPLER_MAX_TASKS);
    out->items = calloc(out->count + 1, sizeof *out->items);
    if (!out->items)
        return err_nomem(err);
    for (size_t i = 0; i < out->count && !rc && !in->is_bad; i++) {
        struct sampler_task *const row = &out->items[i];
        row->pid = (pid_t)byte_reader_below(in, INT32_MAX);
        row->tid = (int32_t)byte_reader_below(in, INT32_MAX);
        row->name = (uint32_t)byte_reader_below(in, UINT32_MAX);
        row->number = byte_reader_number(in);
        row->node = (uint32_t)byte_reader_below(in, UINT32_MAX);
        const unsigned bits = byte_reader_u8(in);
        row->is_running = bits & 1;
        row->is_moving = (bits & 2) != 0;
        row->seen_ns = byte_reader_number(in);
        row->since_ns = byte_reader_number(in);
        in->is_bad |= row->node >= rows->nodes || row->name >= rows->strings;
        rc = take_awaiters(in, row, &room, out, err);
    }
    return rc;
}

static enum err_code decode(struct byte_reader *in, const struct profile_sizes *rows,
                            struct state *out, struct err *err)
{
    in->is_bad |= !take_status(in, &out->status);
    in->is_bad |= !link_take_struct(in, &out->processes, sizeof out->processes);
    in->is_bad |= !take_quality(in, &out->quality);
    out->end_ns = byte_reader_below(in, WINDOWS_MAX_NS);
    out->lost = byte_reader_number(in);
    enum err_code rc = take_targets(in, out, err);
    if (!rc)
        rc = take_origins(in, rows->functions, out, err);
    if (!rc)
        out->has_tasks = byte_reader_u8(in) != 0;
    if (!rc && out->has_tasks)
        rc = take_tasks(in, rows, &out->tasks, err);
    if (!rc && (in->is_bad || byte_reader_left(in) > 0))
        rc = err_set(err, ERR_CORRUPT, "the state of a session is invalid");
    return rc;
}

enum err_code state_decode(struct byte_reader *in, const struct profile_sizes *rows,
                           struct state *out, struct err *err)
{
    *out = (struct state){ .end_ns = 0 };
    const enum err_code rc = decode(in, rows, out, err);
    if (rc)
        state_deinit(out);
    return rc;
}

void state_deinit(struct state *state)
{
    free(state->targets);
    free(state->origins);
    sampler_tasks_deinit(&state->tasks);
    *state = (struct state){ .end_ns = 0 };
}
