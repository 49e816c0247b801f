#include "sampler/link/request.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/capture/bytes.h"

/* Names the bits of the options. */
enum option_bit {
    ALL,
    WAITS,
    SUBPROCESSES,
    ALL_THREADS,
    NO_GC,
    HIDES_ARGUMENTS,
    OPCODES,
    TASKS_EACH,
    OPTION_BITS
};

void link_double_encode(double value, struct bytes *out)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bytes_u64(out, bits);
}

double link_double_decode(struct cursor *cursor)
{
    const uint64_t bits = cursor_u64(cursor);
    double value;
    memcpy(&value, &bits, sizeof value);
    return isfinite(value) ? value : 0;
}

void link_text_encode(const char *text, struct bytes *out)
{
    bytes_u8(out, text != NULL);
    if (text)
        bytes_text(out, text);
}

const char *link_text_decode(struct cursor *cursor)
{
    return cursor_u8(cursor) ? cursor_text(cursor) : NULL;
}

static void put_options(const struct sampler_options *options, struct bytes *out)
{
    const bool flags[OPTION_BITS] = {
        [ALL] = options->all,
        [WAITS] = options->waits,
        [SUBPROCESSES] = options->subprocesses,
        [ALL_THREADS] = options->all_threads,
        [NO_GC] = options->no_gc,
        [HIDES_ARGUMENTS] = options->hides_arguments,
        [OPCODES] = options->opcodes,
        [TASKS_EACH] = options->tasks_each,
    };
    unsigned bits = 0;
    for (unsigned i = 0; i < OPTION_BITS; i++)
        bits |= (unsigned)flags[i] << i;
    bytes_number(out, options->pid_count);
    for (size_t i = 0; i < options->pid_count; i++)
        bytes_number(out, (uint64_t)options->pids[i]);
    bytes_number(out, bits);
    link_double_encode(options->rate_hz, out);
    bytes_number(out, options->duration_ns);
    bytes_number(out, options->since_ns);
    bytes_u8(out, options->mode);
    bytes_u8(out, options->native);
    bytes_u8(out, options->async);
    bytes_number(out, strlen(options->context));
    bytes_put(out, options->context, strlen(options->context));
    bytes_u8(out, options->engine);
    bytes_u8(out, options->stop);
    link_double_encode(options->max_stop_percent, out);
    bytes_number(out, options->memory_bytes);
    link_double_encode(options->max_cpu_percent, out);
}

static unsigned take_below(struct cursor *cursor, unsigned most)
{
    return (unsigned)cursor_below(cursor, most);
}

static pid_t take_pid(struct cursor *cursor)
{
    return (pid_t)cursor_below(cursor, INT32_MAX);
}

/* A text longer than `room` is damage. */
static void take_text(struct cursor *cursor, char *out, size_t room)
{
    const size_t length = cursor_count(cursor, 1, room - 1);
    const void *const text = cursor_take(cursor, length);
    if (length && text)
        memcpy(out, text, length);
}

static void take_options(struct cursor *cursor, struct sampler_options *out)
{
    *out =
        (struct sampler_options){ .pid_count = cursor_count(cursor, 1, SAMPLER_MAX_PROCESSES) };
    for (size_t i = 0; i < out->pid_count; i++)
        out->pids[i] = take_pid(cursor);
    const unsigned bits = take_below(cursor, (1u << OPTION_BITS) - 1);
    out->all = bits >> ALL & 1;
    out->waits = bits >> WAITS & 1;
    out->subprocesses = bits >> SUBPROCESSES & 1;
    out->all_threads = bits >> ALL_THREADS & 1;
    out->no_gc = bits >> NO_GC & 1;
    out->hides_arguments = bits >> HIDES_ARGUMENTS & 1;
    out->opcodes = bits >> OPCODES & 1;
    out->tasks_each = bits >> TASKS_EACH & 1;
    out->rate_hz = link_double_decode(cursor);
    out->duration_ns = cursor_number(cursor);
    out->since_ns = cursor_number(cursor);
    out->mode = (enum sampler_mode)take_below(cursor, SAMPLER_MODE_EXCEPTION);
    out->native = (enum sampler_native)take_below(cursor, SAMPLER_NATIVE_FULL);
    out->async = (enum sampler_async)take_below(cursor, SAMPLER_ASYNC_ALL);
    take_text(cursor, out->context, sizeof out->context);
    out->engine = (enum sampler_engine)take_below(cursor, SAMPLER_ENGINE_REMOTE);
    out->stop = (enum sampler_stop)take_below(cursor, SAMPLER_STOP_ALWAYS);
    out->max_stop_percent = link_double_decode(cursor);
    out->memory_bytes = (size_t)cursor_below(cursor, SIZE_MAX);
    out->max_cpu_percent = link_double_decode(cursor);
}

void link_request_encode(const struct link_request *request, struct bytes *out)
{
    bytes_u8(out, LINK_VERSION);
    bytes_u8(out, request->kind);
    switch (request->kind) {
    case LINK_START:
    case LINK_CHECK_ENGINE: put_options(&request->options, out); return;
    case LINK_STOP:
    case LINK_RECORD_NATIVE: bytes_u64(out, request->session); return;
    case LINK_PAUSE:
        bytes_u64(out, request->session);
        bytes_u8(out, request->paused);
        return;
    case LINK_SET_RATE:
    case LINK_SET_CPU:
        bytes_u64(out, request->session);
        link_double_encode(request->value, out);
        return;
    case LINK_JOIN:
        bytes_u64(out, request->session);
        bytes_number(out, (uint64_t)request->pid);
        return;
    case LINK_ADMIT: bytes_number(out, (uint64_t)request->pid); return;
    case LINK_READ:
        bytes_u64(out, request->session);
        bytes_number(out, request->source_bytes);
        bytes_put(out, request->source, request->source_bytes);
        return;
    case LINK_LIST:
    case LINK_USAGE:
    case LINK_NONE:
    case LINK_PING:
    case LINK_KINDS: return;
    }
}

static void take_contents(struct cursor *cursor, struct link_request *out)
{
    switch (out->kind) {
    case LINK_START:
    case LINK_CHECK_ENGINE: take_options(cursor, &out->options); return;
    case LINK_STOP:
    case LINK_RECORD_NATIVE: out->session = cursor_u64(cursor); return;
    case LINK_PAUSE:
        out->session = cursor_u64(cursor);
        out->paused = cursor_u8(cursor) != 0;
        return;
    case LINK_SET_RATE:
    case LINK_SET_CPU:
        out->session = cursor_u64(cursor);
        out->value = link_double_decode(cursor);
        return;
    case LINK_JOIN:
        out->session = cursor_u64(cursor);
        out->pid = take_pid(cursor);
        return;
    case LINK_ADMIT: out->pid = take_pid(cursor); return;
    case LINK_READ:
        out->session = cursor_u64(cursor);
        out->source_bytes = cursor_count(cursor, 1, LINK_MAX_REQUEST_BYTES);
        out->source = cursor_take(cursor, out->source_bytes);
        return;
    case LINK_LIST:
    case LINK_USAGE:
    case LINK_NONE:
    case LINK_PING:
    case LINK_KINDS: return;
    }
}

enum err_code link_request_decode(struct cursor *cursor, struct link_request *out,
                                  struct err *err)
{
    const unsigned version = cursor_u8(cursor), kind = cursor_u8(cursor);
    *out = (struct link_request){ .kind = (enum link_kind)kind };
    if (cursor->is_bad || version != LINK_VERSION || kind == LINK_NONE || kind >= LINK_KINDS)
        return err_set(err, ERR_INVALID, "the request is of another version");
    take_contents(cursor, out);
    if (cursor->is_bad || cursor_left(cursor) > 0)
        return err_set(err, ERR_INVALID, "the request is invalid");
    return ERR_OK;
}

void link_head_encode(enum err_code code, size_t bytes, unsigned char out[LINK_HEAD_BYTES])
{
    const unsigned char head[LINK_HEAD_BYTES] = {
        LINK_VERSION,
        (unsigned char)code,
        [4] = (unsigned char)bytes,
        (unsigned char)(bytes >> 8),
        (unsigned char)(bytes >> 16),
        (unsigned char)(bytes >> 24),
    };
    memcpy(out, head, sizeof head);
}

enum err_code link_head_decode(const unsigned char head[LINK_HEAD_BYTES],
                               enum err_code *code_out, size_t *bytes_out, struct err *err)
{
    struct cursor cursor = cursor_of(head, LINK_HEAD_BYTES);
    const unsigned version = cursor_u8(&cursor), code = cursor_u8(&cursor);
    (void)cursor_take(&cursor, 2);
    const uint32_t bytes = cursor_u32(&cursor);
    if (version != LINK_VERSION || code > ERR_NOT_PYTHON || bytes > LINK_MAX_ANSWER_BYTES)
        return err_set(err, ERR_CORRUPT, "the sampling process sent an invalid answer");
    *code_out = (enum err_code)code;
    *bytes_out = bytes;
    return ERR_OK;
}

void link_name_files(struct err *err, const char *process)
{
    if (err && (err->sys == EMFILE || err->sys == ENFILE))
        (void)err_wrap(
            err, err->code,
            "the %s has no file descriptors left: stop a session, or raise the limit "
            "(ulimit -n)",
            process);
}

void link_err_encode(const struct err *err, struct bytes *out)
{
    bytes_number(out, (uint64_t)(err->sys > 0 ? err->sys : 0));
    bytes_text(out, err->message);
}

void link_err_decode(struct cursor *cursor, enum err_code code, struct err *out)
{
    const int sys = (int)cursor_below(cursor, INT_MAX);
    const char *const message = cursor_text(cursor);
    if (!out)
        return;
    (void)err_set(out, code, "%s", *message ? message : err_text(code));
    out->sys = sys;
    link_name_files(out, "sampling process");
}

void link_started_encode(const struct link_started *started, struct bytes *out)
{
    bytes_u64(out, started->session);
    bytes_u64(out, started->created_ns);
    bytes_u8(out, started->engine);
}

static enum err_code check(const struct cursor *cursor, struct err *err)
{
    if (!cursor->is_bad && cursor_left(cursor) == 0)
        return ERR_OK;
    return err_set(err, ERR_CORRUPT, "the sampling process sent an invalid answer");
}

enum err_code link_started_decode(struct cursor *cursor, struct link_started *out,
                                  struct err *err)
{
    out->session = cursor_u64(cursor);
    out->created_ns = cursor_u64(cursor);
    out->engine = (enum sampler_engine)take_below(cursor, SAMPLER_ENGINE_REMOTE);
    return check(cursor, err);
}

void link_summary_encode(const struct processes_summary *summary, struct bytes *out)
{
    bytes_number(out, summary->at_ns);
    bytes_number(out, summary->number);
    bytes_number(out, summary->examining);
    bytes_number(out, summary->not_permitted);
    bytes_number(out, summary->examined_cpu_ns);
    bytes_number(out, summary->count);
}

void link_process_encode(const struct process_info *info, struct bytes *out)
{
    const size_t words = info->argc < LINK_MAX_WORDS ? info->argc : LINK_MAX_WORDS;
    bytes_number(out, (uint64_t)info->pid);
    bytes_number(out, (uint64_t)info->parent);
    bytes_number(out, words);
    for (size_t i = 0; i < words; i++)
        bytes_text(out, info->argv[i]);
    link_text_encode(info->executable, out);
    link_text_encode(info->python, out);
    bytes_number(out, info->uid);
    link_text_encode(info->user, out);
    link_text_encode(info->container, out);
    link_text_encode(info->container_name, out);
    link_text_encode(info->pod, out);
    bytes_number(out, info->threads);
    link_double_encode(info->cpu_percent, out);
    bytes_number(out, info->rss_bytes);
    bytes_number(out, info->started_at_ns);
    bytes_number(out, info->uptime_ns);
    link_text_encode(info->reason, out);
}

/* The words have room for one more than before, so that a command line without words has an address too. */
static enum err_code take_process(struct cursor *cursor, const char ***words, size_t *room,
                                  struct process_info *out, struct err *err)
{
    out->pid = take_pid(cursor);
    out->parent = take_pid(cursor);
    out->argc = cursor_count(cursor, 2, LINK_MAX_WORDS);
    if (*room <= out->argc) {
        const char **const larger = realloc(*words, (out->argc + 1) * sizeof **words);
        if (!larger)
            return err_nomem(err);
        *words = larger;
        *room = out->argc + 1;
    }
    for (size_t i = 0; i < out->argc; i++)
        (*words)[i] = cursor_text(cursor);
    out->argv = *words;
    out->executable = link_text_decode(cursor);
    out->python = link_text_decode(cursor);
    out->uid = (unsigned)cursor_below(cursor, UINT_MAX);
    out->user = link_text_decode(cursor);
    out->container = link_text_decode(cursor);
    out->container_name = link_text_decode(cursor);
    out->pod = link_text_decode(cursor);
    out->threads = (uint32_t)cursor_below(cursor, UINT32_MAX);
    out->cpu_percent = link_double_decode(cursor);
    out->rss_bytes = cursor_number(cursor);
    out->started_at_ns = cursor_number(cursor);
    out->uptime_ns = cursor_number(cursor);
    out->reason = link_text_decode(cursor);
    return ERR_OK;
}

enum err_code link_list_decode(struct cursor *cursor, processes_visitor visit, void *context,
                               struct processes_summary *out, struct err *err)
{
    const char **words = NULL;
    size_t room = 0;
    enum err_code rc = ERR_OK;
    struct process_info info;
    out->at_ns = cursor_number(cursor);
    out->number = cursor_number(cursor);
    out->examining = (size_t)cursor_number(cursor);
    out->not_permitted = (size_t)cursor_number(cursor);
    out->examined_cpu_ns = cursor_number(cursor);
    out->count = (size_t)cursor_below(cursor, PROCESSES_MAX);
    while (!rc && !cursor->is_bad && cursor_left(cursor) > 0) {
        rc = take_process(cursor, &words, &room, &info, err);
        if (!rc && !cursor->is_bad && visit)
            visit(context, &info);
    }
    free(words);
    return rc ? rc : check(cursor, err);
}

void link_usage_encode(const struct process_usage *usage, struct bytes *out)
{
    link_double_encode(usage->cpu_user_s, out);
    link_double_encode(usage->cpu_sys_s, out);
    bytes_number(out, usage->rss_bytes);
    bytes_number(out, usage->rss_peak_bytes);
}

enum err_code link_usage_decode(struct cursor *cursor, struct process_usage *out,
                                struct err *err)
{
    out->cpu_user_s = link_double_decode(cursor);
    out->cpu_sys_s = link_double_decode(cursor);
    out->rss_bytes = cursor_number(cursor);
    out->rss_peak_bytes = cursor_number(cursor);
    return check(cursor, err);
}
