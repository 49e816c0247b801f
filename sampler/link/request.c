#include "sampler/link/request.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/base/byte_reader.h"
#include "sampler/base/vec.h"

static enum err_code is_corrupt(struct err *err)
{
    return err_set(err, ERR_CORRUPT, "the sampling process sent an invalid answer");
}

double link_finite(double value)
{
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

bool link_take_struct(struct byte_reader *in, void *out, size_t bytes)
{
    const void *const at = byte_reader_take(in, bytes);
    if (at)
        memcpy(out, at, bytes);
    return at != NULL;
}

/* Pointers are of no use to the other process, and none of its business. */
static void drop_pointers(struct session_options *options)
{
    options->adopter = 0;
    options->engines = NULL;
    options->sink = NULL;
    options->is_cancelled = NULL;
}

void link_request_encode(const struct link_request *request, struct buffer *out)
{
    struct link_request sent = *request;
    sent.source = NULL;
    drop_pointers(&sent.options);
    buffer_append(out, &sent, sizeof sent);
    buffer_append(out, request->source, request->source_bytes);
}

/* A bool with another value must not even be read. */
static bool is_bool(const bool *value)
{
    unsigned char byte;
    memcpy(&byte, value, sizeof byte);
    return byte <= 1;
}

static bool check_options(struct session_options *options)
{
    const bool *const flags[] = {
        &options->all,          &options->waits,           &options->subprocesses,
        &options->all_threads,  &options->no_gc,           &options->hides_arguments,
        &options->opcodes,      &options->tasks_each,      &options->drops_samples,
        &options->locks,        &options->threads_in_turn, &options->tasks_beside,
        &options->kernel_frames
    };
    bool is_valid =
        options->pid_count <= SESSION_MAX_PROCESSES &&
        options->mode <= SESSION_MODE_EXCEPTION && !(options->measures & ~MEASURE_SET_ALL) &&
        options->native <= SESSION_NATIVE_FULL && options->async <= SESSION_ASYNC_ALL &&
        options->engine <= SESSION_ENGINE_REMOTE && options->stop <= SESSION_STOP_ALWAYS &&
        options->locals <= SESSION_LOCALS_VALUES &&
        memchr(options->context, '\0', sizeof options->context);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        is_valid = is_valid && is_bool(flags[i]);
    for (size_t i = 0; is_valid && i < options->pid_count; i++)
        is_valid = options->pids[i] >= 0;
    options->rate_hz = link_finite(options->rate_hz);
    options->max_stop_percent = link_finite(options->max_stop_percent);
    options->max_cpu_percent = link_finite(options->max_cpu_percent);
    drop_pointers(options);
    return is_valid;
}

enum err_code link_request_decode(const void *message, size_t bytes, struct link_request *out,
                                  struct err *err)
{
    if (bytes < sizeof *out)
        return err_set(err, ERR_INVALID, "the request is too short");
    memcpy(out, message, sizeof *out);
    const bool has_options = check_options(&out->options);
    if (!has_options || out->kind == LINK_NONE || out->kind >= LINK_KINDS || out->pid < 0 ||
        !is_bool(&out->paused) || out->source_bytes != bytes - sizeof *out)
        return err_set(err, ERR_INVALID, "the request is invalid");
    out->value = link_finite(out->value);
    out->source = (const char *)message + sizeof *out;
    return ERR_OK;
}

enum err_code link_head_check(const struct link_head *head, struct err *err)
{
    return head->code <= ERR_NOT_PYTHON && head->bytes <= LINK_MAX_ANSWER_BYTES
               ? ERR_OK
               : is_corrupt(err);
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

enum err_code link_fail(enum err_code code, const struct buffer *contents, struct err *err)
{
    struct link_failure failure = { .sys = 0 };
    if (contents->length == sizeof failure)
        memcpy(&failure, contents->data, sizeof failure);
    failure.message[sizeof failure.message - 1] = '\0';
    (void)err_set(err, code, "%s", *failure.message ? failure.message : err_text(code));
    if (err)
        err->sys = failure.sys > 0 ? failure.sys : 0;
    link_name_files(err, "sampling process");
    return code;
}

enum err_code link_take(const struct buffer *contents, void *out, size_t bytes, struct err *err)
{
    if (contents->length != bytes)
        return is_corrupt(err);
    memcpy(out, contents->data, bytes);
    return ERR_OK;
}

/* No byte between its members says what was there before. */
_Static_assert(sizeof(struct process_info) == 2 * sizeof(pid_t) + sizeof(size_t) +
                                                  8 * sizeof(void *) + 2 * sizeof(uint32_t) +
                                                  sizeof(double) + 3 * sizeof(uint64_t),
               "it has no padding");

void link_process_encode(const struct process_info *info, struct buffer *out)
{
    struct process_info sent = *info;
    sent.argc = info->argc < LINK_MAX_WORDS ? info->argc : LINK_MAX_WORDS;
    sent.argv = NULL;
    sent.executable = sent.python = sent.user = sent.container = sent.container_name =
        sent.pod = sent.reason = NULL;
    buffer_append(out, &sent, sizeof sent);
    for (size_t i = 0; i < sent.argc; i++)
        buffer_sized_text(out, info->argv[i]);
    link_text_encode(info->executable, out);
    link_text_encode(info->python, out);
    link_text_encode(info->user, out);
    link_text_encode(info->container, out);
    link_text_encode(info->container_name, out);
    link_text_encode(info->pod, out);
    link_text_encode(info->reason, out);
}

enum err_code link_list_decode(const struct buffer *contents, processes_visitor visit,
                               void *context, struct processes_summary *out, struct err *err)
{
    struct byte_reader in = byte_reader_over(contents);
    struct process_info info;
    const char **words = NULL;
    size_t room = 0;
    enum err_code rc = link_take_struct(&in, out, sizeof *out) && out->count <= PROCESSES_MAX
                           ? ERR_OK
                           : is_corrupt(err);
    while (!rc && byte_reader_left(&in) > 0) {
        if (!link_take_struct(&in, &info, sizeof info) || info.pid < 0 || info.parent < 0 ||
            info.argc > LINK_MAX_WORDS || info.argc > byte_reader_left(&in) / 2) {
            rc = is_corrupt(err);
            break;
        }
        /* One more than there are, so that a command line without words has an address too. */
        if (!VEC_RESERVE(words, room, info.argc + 1)) {
            rc = err_nomem(err);
            break;
        }
        for (size_t i = 0; i < info.argc; i++)
            words[i] = byte_reader_text(&in);
        info.argv = words;
        info.executable = link_text_decode(&in);
        info.python = link_text_decode(&in);
        info.user = link_text_decode(&in);
        info.container = link_text_decode(&in);
        info.container_name = link_text_decode(&in);
        info.pod = link_text_decode(&in);
        info.reason = link_text_decode(&in);
        info.cpu_percent = link_finite(info.cpu_percent);
        if (in.is_bad)
            rc = is_corrupt(err);
        else if (visit)
            visit(context, &info);
    }
    free(words);
    return rc;
}
