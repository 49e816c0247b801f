#include "sampler/link/request.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/byte_reader.h"

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

void link_double_encode(double value, struct buffer *out)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    buffer_u64(out, bits);
}

double link_double_decode(struct byte_reader *in)
{
    const uint64_t bits = byte_reader_u64(in);
    double value;
    memcpy(&value, &bits, sizeof value);
    return isfinite(value) ? value : 0;
}

void link_text_encode(const char *text, struct buffer *out)
{
    buffer_u8(out, text != NULL);
    if (text)
        buffer_sized_text(out, text);
}

const char *link_text_decode(struct byte_reader *in)
{
    return byte_reader_u8(in) ? byte_reader_text(in) : NULL;
}

static void put_options(const struct sampler_options *options, struct buffer *out)
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
    buffer_number(out, options->pid_count);
    for (size_t i = 0; i < options->pid_count; i++)
        buffer_number(out, (uint64_t)options->pids[i]);
    buffer_number(out, bits);
    link_double_encode(options->rate_hz, out);
    buffer_number(out, options->duration_ns);
    buffer_number(out, options->since_ns);
    buffer_u8(out, options->mode);
    buffer_u8(out, options->native);
    buffer_u8(out, options->async);
    buffer_number(out, strlen(options->context));
    buffer_append(out, options->context, strlen(options->context));
    buffer_u8(out, options->engine);
    buffer_u8(out, options->stop);
    link_double_encode(options->max_stop_percent, out);
    buffer_number(out, options->memory_bytes);
    link_double_encode(options->max_cpu_percent, out);
}

static unsigned take_below(struct byte_reader *in, unsigned most)
{
    return (unsigned)byte_reader_below(in, most);
}

static pid_t take_pid(struct byte_reader *in)
{
    return (pid_t)byte_reader_below(in, INT32_MAX);
}

/* A text longer than `room` is damage. */
static void take_text(struct byte_reader *in, char *out, size_t room)
{
    const size_t length = byte_reader_count(in, 1, room - 1);
    const void *const text = byte_reader_take(in, length);
    if (length && text)
        memcpy(out, text, length);
}

static void take_options(struct byte_reader *in, struct sampler_options *out)
{
    *out = (struct sampler_options){ .pid_count =
                                         byte_reader_count(in, 1, SAMPLER_MAX_PROCESSES) };
    for (size_t i = 0; i < out->pid_count; i++)
        out->pids[i] = take_pid(in);
    const unsigned bits = take_below(in, (1u << OPTION_BITS) - 1);
    out->all = bits >> ALL & 1;
    out->waits = bits >> WAITS & 1;
    out->subprocesses = bits >> SUBPROCESSES & 1;
    out->all_threads = bits >> ALL_THREADS & 1;
    out->no_gc = bits >> NO_GC & 1;
    out->hides_arguments = bits >> HIDES_ARGUMENTS & 1;
    out->opcodes = bits >> OPCODES & 1;
    out->tasks_each = bits >> TASKS_EACH & 1;
    out->rate_hz = link_double_decode(in);
    out->duration_ns = byte_reader_number(in);
    out->since_ns = byte_reader_number(in);
    out->mode = (enum sampler_mode)take_below(in, SAMPLER_MODE_EXCEPTION);
    out->native = (enum sampler_native)take_below(in, SAMPLER_NATIVE_FULL);
    out->async = (enum sampler_async)take_below(in, SAMPLER_ASYNC_ALL);
    take_text(in, out->context, sizeof out->context);
    out->engine = (enum sampler_engine)take_below(in, SAMPLER_ENGINE_REMOTE);
    out->stop = (enum sampler_stop)take_below(in, SAMPLER_STOP_ALWAYS);
    out->max_stop_percent = link_double_decode(in);
    out->memory_bytes = (size_t)byte_reader_below(in, SIZE_MAX);
    out->max_cpu_percent = link_double_decode(in);
}

void link_request_encode(const struct link_request *request, struct buffer *out)
{
    buffer_u8(out, LINK_VERSION);
    buffer_u8(out, request->kind);
    switch (request->kind) {
    case LINK_START:
    case LINK_CHECK_ENGINE: put_options(&request->options, out); return;
    case LINK_STOP:
    case LINK_RECORD_NATIVE: buffer_u64(out, request->session); return;
    case LINK_PAUSE:
        buffer_u64(out, request->session);
        buffer_u8(out, request->paused);
        return;
    case LINK_SET_RATE:
    case LINK_SET_CPU:
        buffer_u64(out, request->session);
        link_double_encode(request->value, out);
        return;
    case LINK_JOIN:
        buffer_u64(out, request->session);
        buffer_number(out, (uint64_t)request->pid);
        return;
    case LINK_ADMIT: buffer_number(out, (uint64_t)request->pid); return;
    case LINK_READ:
        buffer_u64(out, request->session);
        buffer_number(out, request->source_bytes);
        buffer_append(out, request->source, request->source_bytes);
        return;
    case LINK_LIST:
    case LINK_USAGE:
    case LINK_NONE:
    case LINK_PING:
    case LINK_KINDS: return;
    }
}

static void take_contents(struct byte_reader *in, struct link_request *out)
{
    switch (out->kind) {
    case LINK_START:
    case LINK_CHECK_ENGINE: take_options(in, &out->options); return;
    case LINK_STOP:
    case LINK_RECORD_NATIVE: out->session = byte_reader_u64(in); return;
    case LINK_PAUSE:
        out->session = byte_reader_u64(in);
        out->paused = byte_reader_u8(in) != 0;
        return;
    case LINK_SET_RATE:
    case LINK_SET_CPU:
        out->session = byte_reader_u64(in);
        out->value = link_double_decode(in);
        return;
    case LINK_JOIN:
        out->session = byte_reader_u64(in);
        out->pid = take_pid(in);
        return;
    case LINK_ADMIT: out->pid = take_pid(in); return;
    case LINK_READ:
        out->session = byte_reader_u64(in);
        out->source_bytes = byte_reader_count(in, 1, LINK_MAX_REQUEST_BYTES);
        out->source = byte_reader_take(in, out->source_bytes);
        return;
    case LINK_LIST:
    case LINK_USAGE:
    case LINK_NONE:
    case LINK_PING:
    case LINK_KINDS: return;
    }
}

enum err_code link_request_decode(struct byte_reader *in, struct link_request *out,
                                  struct err *err)
{
    const unsigned version = byte_reader_u8(in), kind = byte_reader_u8(in);
    *out = (struct link_request){ .kind = (enum link_kind)kind };
    if (in->is_bad || version != LINK_VERSION || kind == LINK_NONE || kind >= LINK_KINDS)
        return err_set(err, ERR_INVALID, "the request is of another version");
    take_contents(in, out);
    if (in->is_bad || byte_reader_left(in) > 0)
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
    struct byte_reader in = byte_reader_of(head, LINK_HEAD_BYTES);
    const unsigned version = byte_reader_u8(&in), code = byte_reader_u8(&in);
    (void)byte_reader_take(&in, 2);
    const uint32_t bytes = byte_reader_u32(&in);
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

void link_err_encode(const struct err *err, struct buffer *out)
{
    buffer_number(out, (uint64_t)(err->sys > 0 ? err->sys : 0));
    buffer_sized_text(out, err->message);
}

void link_err_decode(struct byte_reader *in, enum err_code code, struct err *out)
{
    const int sys = (int)byte_reader_below(in, INT_MAX);
    const char *const message = byte_reader_text(in);
    if (!out)
        return;
    (void)err_set(out, code, "%s", *message ? message : err_text(code));
    out->sys = sys;
    link_name_files(out, "sampling process");
}

void link_started_encode(const struct link_started *started, struct buffer *out)
{
    buffer_u64(out, started->session);
    buffer_u64(out, started->created_ns);
    buffer_u8(out, started->engine);
}

static enum err_code check(const struct byte_reader *in, struct err *err)
{
    if (!in->is_bad && byte_reader_left(in) == 0)
        return ERR_OK;
    return err_set(err, ERR_CORRUPT, "the sampling process sent an invalid answer");
}

enum err_code link_started_decode(struct byte_reader *in, struct link_started *out,
                                  struct err *err)
{
    out->session = byte_reader_u64(in);
    out->created_ns = byte_reader_u64(in);
    out->engine = (enum sampler_engine)take_below(in, SAMPLER_ENGINE_REMOTE);
    return check(in, err);
}

void link_summary_encode(const struct processes_summary *summary, struct buffer *out)
{
    buffer_number(out, summary->at_ns);
    buffer_number(out, summary->number);
    buffer_number(out, summary->examining);
    buffer_number(out, summary->not_permitted);
    buffer_number(out, summary->examined_cpu_ns);
    buffer_number(out, summary->count);
}

void link_process_encode(const struct process_info *info, struct buffer *out)
{
    const size_t words = info->argc < LINK_MAX_WORDS ? info->argc : LINK_MAX_WORDS;
    buffer_number(out, (uint64_t)info->pid);
    buffer_number(out, (uint64_t)info->parent);
    buffer_number(out, words);
    for (size_t i = 0; i < words; i++)
        buffer_sized_text(out, info->argv[i]);
    link_text_encode(info->executable, out);
    link_text_encode(info->python, out);
    buffer_number(out, info->uid);
    link_text_encode(info->user, out);
    link_text_encode(info->container, out);
    link_text_encode(info->container_name, out);
    link_text_encode(info->pod, out);
    buffer_number(out, info->threads);
    link_double_encode(info->cpu_percent, out);
    buffer_number(out, info->rss_bytes);
    buffer_number(out, info->started_at_ns);
    buffer_number(out, info->uptime_ns);
    link_text_encode(info->reason, out);
}

/* The words have room for one more than before, so that a command line without words has an address too. */
static enum err_code take_process(struct byte_reader *in, const char ***words, size_t *room,
                                  struct process_info *out, struct err *err)
{
    out->pid = take_pid(in);
    out->parent = take_pid(in);
    out->argc = byte_reader_count(in, 2, LINK_MAX_WORDS);
    if (*room <= out->argc) {
        const char **const larger = realloc(*words, (out->argc + 1) * sizeof **words);
        if (!larger)
            return err_nomem(err);
        *words = larger;
        *room = out->argc + 1;
    }
    for (size_t i = 0; i < out->argc; i++)
        (*words)[i] = byte_reader_text(in);
    out->argv = *words;
    out->executable = link_text_decode(in);
    out->python = link_text_decode(in);
    out->uid = (unsigned)byte_reader_below(in, UINT_MAX);
    out->user = link_text_decode(in);
    out->container = link_text_decode(in);
    out->container_name = link_text_decode(in);
    out->pod = link_text_decode(in);
    out->threads = (uint32_t)byte_reader_below(in, UINT32_MAX);
    out->cpu_percent = link_double_decode(in);
    out->rss_bytes = byte_reader_number(in);
    out->started_at_ns = byte_reader_number(in);
    out->uptime_ns = byte_reader_number(in);
    out->reason = link_text_decode(in);
    return ERR_OK;
}

enum err_code link_list_decode(struct byte_reader *in, processes_visitor visit, void *context,
                               struct processes_summary *out, struct err *err)
{
    const char **words = NULL;
    size_t room = 0;
    enum err_code rc = ERR_OK;
    struct process_info info;
    out->at_ns = byte_reader_number(in);
    out->number = byte_reader_number(in);
    out->examining = (size_t)byte_reader_number(in);
    out->not_permitted = (size_t)byte_reader_number(in);
    out->examined_cpu_ns = byte_reader_number(in);
    out->count = (size_t)byte_reader_below(in, PROCESSES_MAX);
    while (!rc && !in->is_bad && byte_reader_left(in) > 0) {
        rc = take_process(in, &words, &room, &info, err);
        if (!rc && !in->is_bad && visit)
            visit(context, &info);
    }
    free(words);
    return rc ? rc : check(in, err);
}

void link_usage_encode(const struct process_usage *usage, struct buffer *out)
{
    link_double_encode(usage->cpu_user_s, out);
    link_double_encode(usage->cpu_sys_s, out);
    buffer_number(out, usage->rss_bytes);
    buffer_number(out, usage->rss_peak_bytes);
}

enum err_code link_usage_decode(struct byte_reader *in, struct process_usage *out,
                                struct err *err)
{
    out->cpu_user_s = link_double_decode(in);
    out->cpu_sys_s = link_double_decode(in);
    out->rss_bytes = byte_reader_number(in);
    out->rss_peak_bytes = byte_reader_number(in);
    return check(in, err);
}
