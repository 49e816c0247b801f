#include <string.h>

#include "sampler/profile/profile.h"
#include "server/api/api.h"
#include "server/api/document.h"
#include "server/api/look.h"
#include "server/report/hotlines.h"
#include "server/report/instructions.h"
#include "server/report/report.h"
#include "server/sessions.h"

/* Of one file; what is more is the coldest. */
enum { MAX_INSTRUCTIONS = 20000 };

/* A file without samples in the query. */
static const struct hotfile *find_file(const struct hotlines *hot, str_id file,
                                       struct hotfile *none)
{
    const uint32_t number = hot->file_number[file];
    *none = (struct hotfile){ .file = file };
    return number < hot->file_count ? &hot->files[number] : none;
}

static enum err_code write_lines(struct json *json, const struct look *look,
                                 const struct hotlines *hot, str_id file, struct err *err)
{
    struct hotfile none;
    size_t rows = 0;
    json_object(json);
    json_key(json, "epoch");
    json_text(json, look->session->epoch);
    json_key(json, "generation");
    json_uint(json, look->snapshot.generation);
    json_key(json, "samples");
    json_uint(json, hot->samples);
    const enum err_code rc = instructions_write(
        json, &look->snapshot, hot, find_file(hot, file, &none), MAX_INSTRUCTIONS, &rows, err);
    json_end(json);
    return rc;
}

static enum err_code answer(const struct look *look, struct response *response, struct err *err)
{
    const struct profile_snapshot *const snapshot = &look->snapshot;
    const function_id function = look->query.function;
    if (function >= snapshot->sizes.functions)
        return err_set(err, ERR_NOT_FOUND, "no function %u", function);
    struct session_facts facts;
    struct hotlines hot;
    struct document document;
    session_describe(look->session, snapshot, &facts);
    const struct report_source source = { .snapshot = snapshot,
                                          .query = &look->query.view,
                                          .session = &facts };
    enum err_code rc = hotlines_init(&hot, &source, err);
    if (rc != ERR_OK)
        return rc;
    document_begin(&document);
    rc = write_lines(&document.json, look, &hot, profile_function_at(snapshot, function).file,
                     err);
    hotlines_deinit(&hot);
    return document_send_or_drop(&document, rc, response, err);
}

enum err_code api_get_lines(const struct call *call, struct response *response, struct err *err)
{
    return look_answer(call, QUERY_FUNCTION | QUERY_FROM | QUERY_TO, answer, response, err);
}
