#include "server/source/source.h"

#include "sampler/base/buffer.h"
#include "sampler/profile/profile.h"
#include "server/api/api.h"
#include "server/api/document.h"
#include "server/api/session_request.h"
#include "server/sessions/sessions.h"

static void write_source(struct json *json, struct strtab_string path,
                         const struct buffer *text, bool has_changed)
{
    json_object(json);
    json_key(json, "path");
    json_string(json, path.text, path.length);
    json_key(json, "changed");
    json_bool(json, has_changed);
    json_key(json, "text");
    json_string(json, text->length > 0 ? text->data : "", text->length);
    json_end(json);
}

/* Of no other file than one that a function of the session names. */
static enum err_code answer(const struct session_request *asked, struct response *response,
                            struct err *err)
{
    const struct profile_snapshot *const snapshot = &asked->snapshot;
    const function_id function = asked->query.function;
    if (function >= snapshot->sizes.functions)
        return err_set(err, ERR_NOT_FOUND, "no function %u", function);
    const struct strtab_string path =
        profile_string(snapshot, profile_function_at(snapshot, function).file);
    struct session_info info;
    struct buffer text = { 0 };
    uint64_t changed_ns = 0;
    struct document document;
    session_describe(asked->session, snapshot, &info);
    const enum err_code rc = source_read(session_files(asked->session), snapshot, &function, 1,
                                         &text, &changed_ns, err);
    if (rc != ERR_OK) {
        buffer_deinit(&text);
        return rc;
    }
    const uint64_t began_ns = info.status.started_at_ns;
    document_begin(&document);
    write_source(&document.json, path, &text, began_ns > 0 && changed_ns > began_ns);
    buffer_deinit(&text);
    return document_send(&document, response, err);
}

enum err_code api_get_source(const struct handler_context *handler, struct response *response,
                             struct err *err)
{
    struct session_request asked;
    enum err_code rc = session_request_begin(&asked, handler, QUERY_FUNCTION, err);
    if (rc != ERR_OK)
        return rc;
    rc = answer(&asked, response, err);
    session_request_end(&asked);
    return rc;
}
