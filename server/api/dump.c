#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sampler/base/buffer.h"
#include "sampler/permission.h"
#include "sampler/process_tree.h"
#include "sampler/session.h"
#include "server/api/api.h"
#include "server/api/handler_context.h"
#include "server/api/query.h"
#include "server/http/document.h"
#include "server/http/request.h"
#include "server/http/response.h"
#include "server/sessions/dashboard.h"
#include "server/sessions/dump_json.h"
#include "server/sessions/dump_merge.h"
#include "server/sessions/dump_text.h"
#include "server/sessions/sessions.h"

/* Processes of a session that are read: each takes a moment, and somebody waits. */
enum { MAX_DUMPED = 16 };

static enum err_code read_pid(const char *text, pid_t *out, struct err *err)
{
    const size_t digits = strspn(text, "0123456789");
    const long pid = digits > 0 && digits < 10 && !text[digits] ? strtol(text, NULL, 10) : 0;
    *out = (pid_t)pid;
    return pid > 0 ? ERR_OK : err_set(err, ERR_NOT_FOUND, "no process %.32s", text);
}

/* The page and `pyrometer dump --idle` show the same. */
static const struct dump_view whole_view = { .shows_idle = true, .dumps = 1 };

/* ERR_GONE, ERR_NOT_PYTHON, ERR_PERM and the like: there is no dump. */
static enum err_code take_process(const struct handler_context *handler, pid_t pid,
                                  enum session_locals_mode locals, struct process_facts *facts,
                                  struct dump *dump, struct err *err)
{
    const struct dump_request request = { .async = SESSION_ASYNC_RUNNING,
                                          .native = SESSION_NATIVE_LEAF,
                                          .locals = locals };
    const enum err_code rc = permission_ask(pid, NULL, err);
    if (rc)
        return rc;
    if (process_facts_read(pid, facts))
        return err_set(err, ERR_GONE, "no process %d", (int)pid);
    if (dump_check_memory(pid, facts, err))
        return ERR_NOT_PYTHON;
    return dump_take(dump, pid, &request, handler->request->is_ending, err);
}

static enum err_code send_text(struct buffer *text, struct response *response, struct err *err)
{
    response_set_header(response, "Cache-Control", "no-store");
    return response_take_buffer(response, MIME_TEXT, text, err);
}

static enum err_code send_json(const struct dump *dump, bool wants_tasks,
                               struct response *response, struct err *err)
{
    struct document document;
    document_begin(&document);
    dump_write_json(&document.json, dump, wants_tasks);
    response_set_header(response, "Cache-Control", "no-store");
    return document_send(&document, response, err);
}

enum err_code api_dump_process(const struct handler_context *handler, struct response *response,
                               struct err *err)
{
    struct dashboard *dashboard = NULL;
    struct dump_view view = whole_view;
    struct process_facts facts;
    struct buffer text = { 0 };
    struct query query;
    struct dump dump;
    pid_t pid = 0;
    enum err_code rc = handler_dashboard(handler, &dashboard, err);
    if (!rc)
        rc = query_read(handler->request, QUERY_DUMP | QUERY_FORMAT, &query, err);
    const bool is_text = !rc && query.format && strcmp(query.format, "text") == 0;
    if (!rc && query.format && !is_text && strcmp(query.format, "json") != 0)
        rc = err_set(err, ERR_INVALID, "parameter \"format\" must be json or text");
    if (!rc && query.locals && !dashboard->allows_locals)
        rc = err_set(err, ERR_PERM,
                     "this server shows no variables: start it with --allow-locals");
    if (!rc)
        rc = read_pid(handler->argument, &pid, err);
    if (!rc)
        rc = take_process(handler, pid, query.locals, &facts, &dump, err);
    if (rc == ERR_NOT_PYTHON || rc == ERR_GONE) {
        response_problem(response, 404, "%s", err->message);
        return ERR_OK;
    }
    if (rc)
        return rc;
    view.shows_tasks = query.wants_tasks;
    if (is_text)
        dump_text_write(&text, &dump, &view, &facts);
    rc = is_text ? send_text(&text, response, err)
                 : send_json(&dump, query.wants_tasks, response, err);
    buffer_deinit(&text);
    dump_deinit(&dump);
    return rc;
}

/* The processes of a session that have not ended, as far as they are read. */
struct dumped_targets {
    pid_t pids[MAX_DUMPED];
    size_t count, left_out;
};

static struct dumped_targets find_running(const struct session *session)
{
    struct dumped_targets found = { .count = 0 };
    struct session_target target;
    for (size_t i = 0; session && session_target_at(session, i, &target); i++) {
        if (target.to_ns)
            continue;
        if (found.count < MAX_DUMPED)
            found.pids[found.count++] = target.pid;
        else
            found.left_out++;
    }
    return found;
}

/* merge: NULL: it is the only one, and `text` gets it. */
static enum err_code put_process(const struct handler_context *handler, pid_t pid,
                                 struct dump_merge *merge, struct buffer *text, struct err *err)
{
    enum err_code rc;
    struct process_facts facts;
    struct dump dump;
    if ((rc = take_process(handler, pid, SESSION_LOCALS_OFF, &facts, &dump, err)))
        return rc;
    if (merge)
        rc = dump_text_merge(merge, &dump, &whole_view, &facts, err);
    else
        dump_text_write(text, &dump, &whole_view, &facts);
    dump_deinit(&dump);
    return rc;
}

/* Reads one after another: each may end meanwhile, and the text ends with those that cannot be read. */
enum err_code api_dump_session(const struct handler_context *handler, struct response *response,
                               struct err *err)
{
    struct buffer text = { 0 }, unread = { 0 };
    struct session_entry *entry = NULL;
    struct dump_merge merge = { 0 };
    struct err why = { 0 };
    size_t read = 0;
    enum err_code rc = query_read_none(handler->request, err);
    if (!rc)
        rc = handler_session(handler, &entry, err);
    if (!rc)
        rc = dump_merge_init(&merge, err);
    if (rc)
        return rc;
    const struct dumped_targets targets = find_running(atomic_load(&entry->session));
    for (size_t i = 0; i < targets.count && rc != ERR_NOMEM; i++) {
        rc = put_process(handler, targets.pids[i], targets.count > 1 ? &merge : NULL, &text,
                         &why);
        read += !rc;
        if (rc)
            buffer_printf(&unread, "process %d cannot be read: %s\n", (int)targets.pids[i],
                          why.message);
    }
    if (targets.left_out)
        buffer_printf(&unread, "%zu more processes were not read\n", targets.left_out);
    if (rc == ERR_NOMEM) {
        *err = why;
    } else if (read == 0) {
        response_problem(response, 404, "%s",
                         targets.count ? why.message : "its processes have all ended");
        rc = ERR_OK;
    } else {
        rc = targets.count > 1 ? dump_merge_write(&merge, true, &text, err) : ERR_OK;
        if (unread.length)
            buffer_char(&text, '\n');
        buffer_append(&text, unread.data, unread.length);
        if (!rc)
            rc = send_text(&text, response, err);
    }
    buffer_deinit(&text);
    buffer_deinit(&unread);
    dump_merge_deinit(&merge);
    return rc;
}
