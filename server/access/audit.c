#include "server/access/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sampler/base/buffer.h"
#include "sampler/base/clock.h"
#include "sampler/base/trusted_path.h"
#include "server/access/auth.h"
#include "server/http/request.h"
#include "server/wire/json.h"
#include "server/wire/rfc3339.h"

enum err_code audit_open(const char *file, audit_say *say, struct audit *out, struct err *err)
{
    *out = (struct audit){ .fd = -1, .say = say };
    if (!file)
        return ERR_OK;
    enum err_code rc = ERR_OK;
    if (strcmp(file, "-") != 0)
        rc = trusted_path_open(file, O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_NONBLOCK,
                               S_IRUSR | S_IWUSR, &out->fd, err);
    else if ((fcntl(STDERR_FILENO, F_GETFL) & O_ACCMODE) == O_RDONLY)
        rc = err_set(err, ERR_SYS, "standard error is closed");
    else if ((out->fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0)) < 0)
        rc = err_set(err, ERR_SYS, "%s", strerror(errno));
    return !rc ? rc : err_wrap(err, ERR_SYS, "cannot write the audit log '%.200s'", file);
}

void audit_close(struct audit *audit)
{
    if (audit->fd >= 0)
        close(audit->fd);
    audit->fd = -1;
}

/* Returns how many bytes were written; errno says why not all. */
static size_t append_line(struct audit *audit, const struct buffer *line)
{
    size_t done = 0;
    ssize_t written = 1;
    if (atomic_exchange(&audit->is_cut, false))
        written = write(audit->fd, "\n", 1);
    const bool is_cut = written != 1;
    while (written > 0 && done < line->length) {
        written = write(audit->fd, line->data + done, line->length - done);
        done += written > 0 ? (size_t)written : 0;
    }
    if (is_cut || (done > 0 && done < line->length))
        atomic_store(&audit->is_cut, true);
    return done;
}

static void write_line(struct audit *audit, struct json *json, struct buffer *line)
{
    const enum err_code rc = json_finish(json, NULL);
    buffer_char(line, '\n');
    const bool is_made = !rc && !buffer_check(line, NULL);
    errno = ENOMEM;
    if ((!is_made || append_line(audit, line) < line->length) &&
        atomic_fetch_add(&audit->lost, 1) == 0)
        audit->say("the audit log cannot be written, so lines are lost: %s", strerror(errno));
    buffer_deinit(line);
}

void audit_write(struct audit *audit, const char *action, const struct identity *who,
                 const struct request *request, int status)
{
    struct buffer line = { 0 };
    struct json json;
    if (audit->fd < 0)
        return;
    json_init(&json, &line);

    const size_t body_bytes =
        request->body_bytes < AUDIT_MAX_BODY ? request->body_bytes : AUDIT_MAX_BODY;
    json_object(&json);
    rfc3339_write(&json, "at", clock_wall_ns());
    json_member_text(&json, "action", action);
    json_member_int(&json, "status", status);
    json_member_text(&json, "who", auth_scope_text(who->scope));
    if (json_member_if(&json, "share", who->share))
        json_uint(&json, who->share);
    json_member_text(&json, "address", request->peer);
    json_member_text(&json, "method", method_text(request->method));
    json_member_text(&json, "path", request->path);
    json_member_text(&json, "format", request_query(request, "format"));
    if (json_member_if(&json, "body", body_bytes > 0))
        json_string(&json, request->body, body_bytes);
    json_end(&json);

    write_line(audit, &json, &line);
}

void audit_write_event(struct audit *audit, const struct audit_event *event)
{
    struct buffer line = { 0 };
    struct json json;
    if (audit->fd < 0)
        return;
    json_init(&json, &line);

    char address[32], path[64] = "";
    snprintf(address, sizeof address, "local:uid=%u", (unsigned)getauxval(AT_UID));
    if (event->session)
        snprintf(path, sizeof path, "/api/v1/sessions/%.20s", event->session);
    json_object(&json);
    rfc3339_write(&json, "at", clock_wall_ns());
    json_member_text(&json, "action", event->action);
    json_member_null(&json, "status");
    json_member_text(&json, "who", event->who);
    json_member_null(&json, "share");
    json_member_text(&json, "address", address);
    json_member_null(&json, "method");
    json_member_text(&json, "path", *path ? path : NULL);
    json_member_null(&json, "format");
    json_member_text(&json, "body", event->body);
    json_end(&json);

    write_line(audit, &json, &line);
}
