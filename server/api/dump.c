#include "server/sessions/dump.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/permission.h"
#include "sampler/sampler.h"
#include "server/api/api.h"
#include "server/api/handler_context.h"
#include "server/api/query.h"
#include "server/http/document.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "server/sessions/dashboard.h"
#include "server/wire/rfc3339.h"
#include "server/wire/task.h"

static void write_frames(struct json *json, const struct profile_snapshot *snapshot,
                         node_id node)
{
    json_member_array(json, "frames");
    for (; node != 0; node = profile_node_at(snapshot, node).parent) {
        const struct profile_frame frame =
            profile_frame_at(snapshot, profile_node_at(snapshot, node).frame);
        const struct profile_function function = profile_function_at(snapshot, frame.function);
        json_object(json);
        json_member_string(json, "function", profile_string(snapshot, function.name));
        json_member_string(json, "file", profile_string(snapshot, function.file));
        json_member_int(json, "line", frame.line);
        json_end(json);
    }
    json_end(json);
}

/* The words of the bits from `shift` on. */
static void write_states(struct json *json, const char *key, state_bits state, unsigned shift)
{
    json_member_array(json, key);
#define X(name, bit, text)            \
    if (state >> ((bit) + shift) & 1) \
        json_text(json, text);
    STATE_FLAGS(X)
#undef X
    json_end(json);
}

static void write_thread(struct json *json, const struct dump *dump, const struct dump_row *row)
{
    const struct profile_thread thread = profile_thread_at(&dump->snapshot, row->thread);
    json_object(json);
    json_member_int(json, "tid", thread.tid);
    json_member_string(json, "name", profile_string(&dump->snapshot, thread.name));
    json_member_bool(json, "main", thread.is_main);
    write_states(json, "states", row->state, 0);
    write_states(json, "unknown", row->state, 8);
    write_frames(json, &dump->snapshot, row->node);
    json_end(json);
}

static void write_task(struct json *json, const struct dump *dump,
                       const struct sampler_task *task)
{
    json_object(json);
    json_key(json, "name");
    task_write_name(json, &dump->snapshot, task);
    json_member_int(json, "tid", task->tid);
    json_member_text(json, "state", task_state_text(task));
    json_key(json, "awaited_by");
    task_write_awaiters(json, &dump->tasks, task);
    write_frames(json, &dump->snapshot, task->node);
    json_end(json);
}

static void write_tasks(struct json *json, const struct dump *dump)
{
    json_member_array(json, "tasks");
    for (size_t i = 0; i < dump->tasks.count; i++)
        write_task(json, dump, &dump->tasks.items[i]);
    json_end(json);
}

static void write_dump(struct json *json, const struct dump *dump, pid_t pid, bool wants_tasks)
{
    json_object(json);
    json_member_int(json, "pid", pid);
    json_member_text(json, "python", sampler_target(dump->sampler)->python);
    rfc3339_write(json, "sampled_at", dump->at_ns);
    json_member_uint(json, "samples", dump->samples);
    json_member_array(json, "threads");
    for (size_t i = 0; i < dump->count; i++)
        write_thread(json, dump, &dump->rows[i]);
    json_end(json);
    if (wants_tasks)
        write_tasks(json, dump);
    json_end(json);
}

static enum err_code read_pid(const char *text, pid_t *out, struct err *err)
{
    const size_t digits = strspn(text, "0123456789");
    const long pid = digits > 0 && digits < 10 && !text[digits] ? strtol(text, NULL, 10) : 0;
    *out = (pid_t)pid;
    return pid > 0 ? ERR_OK : err_set(err, ERR_NOT_FOUND, "no process %.32s", text);
}

enum err_code api_dump_process(const struct handler_context *handler, struct response *response,
                               struct err *err)
{
    struct dashboard *dashboard = NULL;
    struct document document;
    struct query query;
    struct dump dump;
    pid_t pid = 0;
    enum err_code rc = handler_dashboard(handler, &dashboard, err);
    if (rc == ERR_OK)
        rc = query_read(handler->request, QUERY_TASKS, &query, err);
    if (rc == ERR_OK)
        rc = read_pid(handler->argument, &pid, err);
    if (rc == ERR_OK)
        rc = permission_ask(pid, NULL, err);
    if (rc == ERR_OK)
        rc =
            dump_take(&dump, pid, query.wants_tasks ? SAMPLER_ASYNC_RUNNING : SAMPLER_ASYNC_OFF,
                      SAMPLER_NATIVE_LEAF, handler->request->is_ending, err);
    if (rc == ERR_NOT_PYTHON || rc == ERR_GONE) {
        response_problem(response, 404, "%s", err->message);
        return ERR_OK;
    }
    if (rc != ERR_OK)
        return rc;
    document_begin(&document);
    write_dump(&document.json, &dump, pid, query.wants_tasks);
    dump_deinit(&dump);
    response_set_header(response, "Cache-Control", "no-store");
    return document_send(&document, response, err);
}
