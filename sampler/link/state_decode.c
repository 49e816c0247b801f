#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/vec.h"
#include "sampler/capture/bytes.h"
#include "sampler/capture/windows.h"
#include "sampler/link/request.h"
#include "sampler/link/state.h"
#include "sampler/profile/profile.h"

enum { TARGET_BYTES = 16, END_BYTES = 3, WARNING_BYTES = 3, ORIGIN_BYTES = 10, TASK_BYTES = 9 };

static void take_status(struct cursor *cursor, struct sampler_status *out)
{
    out->state = (enum sampler_state)cursor_below(cursor, SAMPLER_FAILED);
    snprintf(out->reason, sizeof out->reason, "%s", cursor_text(cursor));
    snprintf(out->engine_reason, sizeof out->engine_reason, "%s", cursor_text(cursor));
    out->started_at_ns = cursor_number(cursor);
    out->ended_at_ns = cursor_number(cursor);
    out->elapsed_ns = cursor_number(cursor);
    out->rate_hz = link_double_decode(cursor);
    out->requested_hz = link_double_decode(cursor);
}

static void take_quality(struct cursor *cursor, struct quality *out)
{
#define X(name, text) out->name = cursor_number(cursor);
    QUALITY_COUNTERS(X)
#undef X
    for (size_t i = 0; i < QUALITY_BIASED; i++) {
        out->biased[i].function = (uint32_t)cursor_below(cursor, UINT32_MAX);
        const int64_t ppm = cursor_signed(cursor);
        cursor->is_bad |= ppm < -1000000 || ppm > 1000000;
        out->biased[i].ppm = (int32_t)ppm;
    }
    out->interval_count = cursor_number(cursor);
    out->interval_sum_ns = cursor_number(cursor);
    out->interval_least_ns = cursor_number(cursor);
    out->interval_most_ns = cursor_number(cursor);
    out->tick_ns = cursor_number(cursor);
}

static void take_name(struct cursor *cursor, char out[SAMPLER_SERVICE_BYTES])
{
    const char *const text = cursor_text(cursor);
    const size_t length = strlen(text);
    cursor->is_bad |= length >= SAMPLER_SERVICE_BYTES;
    if (length < SAMPLER_SERVICE_BYTES)
        memcpy(out, text, length + 1);
}

/* The words may move until all are there. */
static enum err_code take_target(struct cursor *cursor, struct state *state,
                                 struct sampler_target *out, struct err *err)
{
    *out = (struct sampler_target){ .pid = (pid_t)cursor_below(cursor, INT32_MAX) };
    out->parent = (pid_t)cursor_below(cursor, INT32_MAX);
    out->argc = cursor_count(cursor, 2, LINK_MAX_WORDS);
    if (!VEC_RESERVE(state->words, state->word_room, state->word_count + out->argc + 1))
        return err_nomem(err);
    for (size_t i = 0; i < out->argc; i++)
        state->words[state->word_count++] = cursor_text(cursor);
    out->executable = cursor_text(cursor);
    out->python = cursor_text(cursor);
    out->pod = link_text_decode(cursor);
    take_name(cursor, out->service.name);
    take_name(cursor, out->service.namespace);
    take_name(cursor, out->service.version);
    take_name(cursor, out->service.container);
    out->validated = cursor_u8(cursor) != 0;
    out->from_ns = cursor_number(cursor);
    out->age_ns = cursor_number(cursor);
    return ERR_OK;
}

static enum err_code take_targets(struct cursor *cursor, struct state *out, struct err *err)
{
    enum err_code rc = ERR_OK;
    out->first_target = (size_t)cursor_below(cursor, SAMPLER_MAX_LISTED);
    out->target_count =
        cursor_count(cursor, TARGET_BYTES, SAMPLER_MAX_LISTED - out->first_target);
    out->targets = calloc(out->target_count + 1, sizeof *out->targets);
    if (!out->targets)
        return err_nomem(err);
    for (size_t i = 0; i < out->target_count && !rc; i++)
        rc = take_target(cursor, out, &out->targets[i], err);
    size_t at = 0;
    for (size_t i = 0; i < out->target_count && !rc; i++) {
        out->targets[i].argv = out->words + at;
        at += out->targets[i].argc;
    }
    const size_t known = out->first_target + out->target_count;
    out->end_count = cursor_count(cursor, END_BYTES, SAMPLER_MAX_LISTED);
    out->ends = calloc(out->end_count + 1, sizeof *out->ends);
    if (!out->ends)
        return err_nomem(err);
    for (size_t i = 0; i < out->end_count; i++) {
        out->ends[i].target = (size_t)cursor_number(cursor);
        out->ends[i].to_ns = cursor_number(cursor);
        out->ends[i].reason = link_text_decode(cursor);
        cursor->is_bad |= out->ends[i].target >= known;
    }
    return rc;
}

static enum err_code take_warnings(struct cursor *cursor, struct state *out, struct err *err)
{
    const size_t known = out->first_target + out->target_count;
    out->warning_count =
        cursor_count(cursor, WARNING_BYTES, SAMPLER_MAX_LISTED * SAMPLER_WARNINGS);
    out->warnings = calloc(out->warning_count + 1, sizeof *out->warnings);
    if (!out->warnings)
        return err_nomem(err);
    for (size_t i = 0; i < out->warning_count; i++) {
        out->warnings[i].target = (size_t)cursor_number(cursor);
        out->warnings[i].warning =
            (enum sampler_warning)cursor_below(cursor, SAMPLER_WARNINGS - 1);
        out->warnings[i].text = cursor_text(cursor);
        cursor->is_bad |= out->warnings[i].target >= known;
    }
    return ERR_OK;
}

static enum err_code take_origins(struct cursor *cursor, uint32_t functions, struct state *out,
                                  struct err *err)
{
    out->origin_count = cursor_count(cursor, ORIGIN_BYTES, STATE_MAX_ORIGINS);
    out->origins = calloc(out->origin_count + 1, sizeof *out->origins);
    if (!out->origins)
        return err_nomem(err);
    for (size_t i = 0; i < out->origin_count; i++) {
        struct state_origin *const row = &out->origins[i];
        row->function = (uint32_t)cursor_below(cursor, UINT32_MAX);
        row->origin = cursor_u64(cursor);
        row->entry = cursor_number(cursor);
        cursor->is_bad |= row->function >= functions;
    }
    return ERR_OK;
}

static enum err_code take_awaiters(struct cursor *cursor, struct sampler_task *row,
                                   size_t *room, struct sampler_tasks *out, struct err *err)
{
    row->first_awaiter = (uint32_t)out->awaiter_count;
    row->awaiter_count =
        (uint32_t)cursor_count(cursor, 1, STATE_MAX_AWAITERS - out->awaiter_count);
    if (!VEC_RESERVE(out->awaiters, *room, out->awaiter_count + row->awaiter_count + 1))
        return err_nomem(err);
    for (uint32_t k = 0; k < row->awaiter_count; k++) {
        const uint32_t awaiter = (uint32_t)cursor_below(cursor, UINT32_MAX);
        cursor->is_bad |= awaiter >= out->count;
        out->awaiters[out->awaiter_count++] = awaiter;
    }
    return ERR_OK;
}

static enum err_code take_tasks(struct cursor *cursor, const struct profile_sizes *rows,
                                struct sampler_tasks *out, struct err *err)
{
    size_t room = 0;
    enum err_code rc = ERR_OK;
    out->at_ns = cursor_number(cursor);
    out->is_cut = cursor_u8(cursor) != 0;
    out->count = cursor_count(cursor, TASK_BYTES, SAMPLER_MAX_TASKS);
    out->items = calloc(out->count + 1, sizeof *out->items);
    if (!out->items)
        return err_nomem(err);
    for (size_t i = 0; i < out->count && !rc && !cursor->is_bad; i++) {
        struct sampler_task *const row = &out->items[i];
        row->pid = (pid_t)cursor_below(cursor, INT32_MAX);
        row->tid = (int32_t)cursor_below(cursor, INT32_MAX);
        row->name = (uint32_t)cursor_below(cursor, UINT32_MAX);
        row->number = cursor_number(cursor);
        row->node = (uint32_t)cursor_below(cursor, UINT32_MAX);
        const unsigned bits = cursor_u8(cursor);
        row->is_running = bits & 1;
        row->is_moving = (bits & 2) != 0;
        row->seen_ns = cursor_number(cursor);
        row->since_ns = cursor_number(cursor);
        cursor->is_bad |= row->node >= rows->nodes || row->name >= rows->strings;
        rc = take_awaiters(cursor, row, &room, out, err);
    }
    return rc;
}

static enum err_code decode(struct cursor *cursor, const struct profile_sizes *rows,
                            struct state *out, struct err *err)
{
    take_status(cursor, &out->status);
    out->end_ns = cursor_below(cursor, WINDOWS_MAX_NS);
    out->lost = cursor_number(cursor);
    take_quality(cursor, &out->quality);
    out->processes.joined = cursor_number(cursor);
    out->processes.running = cursor_number(cursor);
    out->processes.over = cursor_number(cursor);
    out->processes.short_of_files = cursor_number(cursor);
    out->processes.denied = cursor_number(cursor);
    out->processes.not_permitted = cursor_number(cursor);
    enum err_code rc = take_targets(cursor, out, err);
    if (!rc)
        rc = take_warnings(cursor, out, err);
    if (!rc)
        rc = take_origins(cursor, rows->functions, out, err);
    if (!rc)
        out->has_tasks = cursor_u8(cursor) != 0;
    if (!rc && out->has_tasks)
        rc = take_tasks(cursor, rows, &out->tasks, err);
    if (!rc && (cursor->is_bad || cursor_left(cursor) > 0))
        rc = err_set(err, ERR_CORRUPT, "the state of a session is invalid");
    return rc;
}

enum err_code state_decode(struct cursor *cursor, const struct profile_sizes *rows,
                           struct state *out, struct err *err)
{
    *out = (struct state){ .end_ns = 0 };
    const enum err_code rc = decode(cursor, rows, out, err);
    if (rc)
        state_deinit(out);
    return rc;
}

void state_deinit(struct state *state)
{
    free(state->targets);
    free(state->words);
    free(state->ends);
    free(state->warnings);
    free(state->origins);
    sampler_tasks_deinit(&state->tasks);
    *state = (struct state){ .end_ns = 0 };
}
